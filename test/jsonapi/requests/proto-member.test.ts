import {
  faultOfProtoMember,
  mayHaveProtoMember,
} from '../../../src/jsonapi/requests/proto-member.js';

/** Pointers of the fault in a body; none if it is read. */
function faultsOf(text: string): (string | undefined)[] {
  if (!mayHaveProtoMember(Buffer.from(text))) return [];
  const { details = [] } = faultOfProtoMember(JSON.parse(text)) ?? {};
  return details.map(({ source }) => source?.pointer);
}

describe('a member __proto__', () => {
  it.each([
    ['{"__proto__": {"a": 1}}', '/__proto__'],
    ['{"data": {"parameters": {"__proto__": 1}}}', '/data/parameters/__proto__'],
    ['{"list": [1, {"\\u005f_proto__": {}}]}', '/list/1/__proto__'],
  ])('of %s is refused with its pointer', (text, pointer) => {
    expect(faultsOf(text)).toEqual([pointer]);
  });

  it('that is an attribute is left to the reader of documents', () => {
    expect(faultsOf('{"data": {"attributes": {"__proto__": 1}}}')).toEqual([]);
  });

  it.each(['{"a": "__proto__"}', '{"a": "\\u00e9"}', '["__proto__"]', 'null', '{"proto": 1}'])(
    'is not in %s',
    (text) => {
      expect(faultsOf(text)).toEqual([]);
    },
  );
});
