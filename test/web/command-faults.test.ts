import { problemText } from '../../web/src/features/commands/form/faults';

describe('what is said of a value that Apple would not take', () => {
  it('names the digits of a PIN in place of its regular expression', () => {
    const of = (format: string) => problemText({ pointer: '/PIN', code: 'format', format });
    expect(of('\\d{6}')).toBe('Must be 6 digits.');
    expect(of('[A-Z]+')).toBe('Must match [A-Z]+.');
  });
});
