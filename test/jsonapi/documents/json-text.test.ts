import fc from 'fast-check';
import type { Document } from '../../../src/jsonapi/documents/document.js';
import { documentText, JsonText } from '../../../src/jsonapi/documents/json-text.js';

function resource(attributes: Record<string, unknown>) {
  return { type: 'things', id: 1, attributes, links: {} };
}

describe('documentText', () => {
  it('writes what JSON.stringify writes, with the texts verbatim', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (plain, given) => {
        const withTexts = (value: unknown) => ({
          data: [resource({ plain, value, other: 'json 0' }), resource({ plain })],
          included: [resource({ value })],
        });
        const text = documentText(withTexts(new JsonText(JSON.stringify(given))));
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(withTexts(given))));
      }),
    );
  });

  it('writes documents without data unchanged', () => {
    for (const document of [{ data: null }, { errors: [] }, { data: [] }]) {
      expect(documentText(document)).toBe(JSON.stringify(document));
    }
    expect(documentText({ data: resource({}) } as unknown as Document)).toContain('things');
  });
});
