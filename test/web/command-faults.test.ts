import { commandsText } from '../../web/src/text/commands';

describe('what is said of a value that Apple would not take', () => {
  it('names the digits of a PIN in place of its regular expression', () => {
    const { format } = commandsText.problems;
    expect(format('\\d{6}')).toBe('Must be 6 digits.');
    expect(format('[A-Z]+')).toBe('Must match [A-Z]+.');
  });
});
