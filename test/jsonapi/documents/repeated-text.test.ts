import { RepeatedText } from '../../../src/jsonapi/documents/repeated-text.js';

describe('RepeatedText', () => {
  it('has each text at every place, whatever the text before it was', () => {
    const pieces = ['<', '|', '', '>'];
    const repeated = new RepeatedText(pieces);
    for (const text of ['/a/9', '/a/10', '/a/11', '/a/19', '/b/99', '/a/9', '', '/a/9', '/a/9']) {
      expect(repeated.with(text).toString()).toBe(pieces.join(text));
    }
  });

  it('is the same without a place', () => {
    expect(new RepeatedText(['only']).with('x').toString()).toBe('only');
  });
});
