import {
  type DeclarationSet,
  declarationItemsResponse,
  declarationsToken,
  parseEndpoint,
  parseStatusReport,
  tokensResponse,
} from '../../../src/protocol/mdm/declarative-management.js';
import { codeOf } from '../../crypto/identities.js';
import schema from '../../fixtures/apple/ddm-protocol.json';
import { fixture } from '../plist/plist-fixtures.js';

const NONE: DeclarationSet = { Activations: [], Assets: [], Configurations: [], Management: [] };
const SOME: DeclarationSet = {
  ...NONE,
  Configurations: [{ Identifier: 'org.example.passcode', ServerToken: '1' }],
};
const AT = new Date('2026-11-21T22:00:00.250Z');

/** The keys that Apple requires at the top of a response. */
function requiredKeys(requestType: string) {
  const item = schema.items.find((one) => one.requestType === requestType);
  return item?.keys.filter(({ presence }) => presence === 'required') ?? [];
}

describe('an Endpoint', () => {
  it.each([
    '',
    'token',
    'Tokens',
    'tokens/',
    'status/x',
    'declaration',
    'declaration/',
    'declaration/configuration',
    'declaration/configuration/',
    'declaration/else/x',
    '/tokens',
    '__proto__',
  ])('%j is not one of Apple’s', (endpoint) => {
    expect(parseEndpoint(endpoint)).toBeUndefined();
  });

  it('names the tokens, the items, a status report or one declaration', () => {
    expect(parseEndpoint('tokens')).toEqual({ kind: 'tokens' });
    expect(parseEndpoint('declaration-items')).toEqual({ kind: 'declaration-items' });
    expect(parseEndpoint('status')).toEqual({ kind: 'status' });
    for (const type of ['activation', 'asset', 'configuration', 'management']) {
      expect(parseEndpoint(`declaration/${type}/a/b c`)).toEqual({
        kind: 'declaration',
        type,
        identifier: 'a/b c',
      });
    }
  });
});

describe('the answers', () => {
  it('have the keys that Apple requires', () => {
    const tokens = JSON.parse(tokensResponse(NONE, AT).toString());
    expect(Object.keys(tokens)).toEqual(requiredKeys('TokensResponse').map(({ key }) => key));
    expect(tokens.SyncTokens).toEqual({
      DeclarationsToken: declarationsToken(NONE),
      Timestamp: '2026-11-21T22:00:00Z',
    });
    const items = JSON.parse(declarationItemsResponse(NONE).toString());
    const required = requiredKeys('DeclarationItemsResponse');
    expect(Object.keys(items)).toEqual(required.map(({ key }) => key));
    const [declarations] = required as { subkeys?: { key: string }[] }[];
    const names = declarations?.subkeys?.map(({ key }) => key) ?? [];
    expect(names).toHaveLength(4);
    expect(items.Declarations).toEqual(Object.fromEntries(names.map((name) => [name, []])));
  });

  it('have the same token for the same set, and another for another set', () => {
    for (const set of [NONE, SOME]) {
      const { DeclarationsToken } = JSON.parse(declarationItemsResponse(set).toString());
      expect(DeclarationsToken).toBe(declarationsToken({ ...set }));
      expect(JSON.parse(tokensResponse(set, AT).toString()).SyncTokens.DeclarationsToken).toBe(
        DeclarationsToken,
      );
    }
    expect(declarationsToken(SOME)).not.toBe(declarationsToken(NONE));
    const moved = { ...NONE, Assets: SOME.Configurations };
    expect(declarationsToken(moved)).not.toBe(declarationsToken(SOME));
  });
});

describe('a status report', () => {
  it.each([
    ['nothing', ''],
    ['no JSON', '{"StatusItems":'],
    ['two documents', '{}{}'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a text', '"x"'],
    ['an array of great depth', '['.repeat(500_000)],
  ])('is not %s', (_what, text) => {
    expect(codeOf(() => parseStatusReport(Buffer.from(text)))).toBe('invalid_message');
  });

  it('is UTF-8', () => {
    const latin1 = Buffer.from('{"StatusItems":{"é":1}}', 'latin1');
    expect(codeOf(() => parseStatusReport(latin1))).toBe('invalid_message');
  });

  it('has 2 MiB at most', () => {
    const size = 2 * 1024 * 1024;
    const text = `{"FullReport":true${' '.repeat(size - 19)}}`;
    expect(parseStatusReport(Buffer.from(text))).toEqual({ items: [], errors: 0, isFull: true });
    expect(codeOf(() => parseStatusReport(Buffer.from(`${text} `)))).toBe('payload_too_large');
  });

  it('is accepted with any keys', () => {
    const odd = { StatusItems: [1], Errors: { a: 1 }, FullReport: 'yes', More: null };
    expect(parseStatusReport(Buffer.from(JSON.stringify(odd)))).toEqual({
      items: [],
      errors: 0,
      isFull: false,
    });
  });

  it('of a Mac contains its status items', () => {
    expect(parseStatusReport(fixture('ddm/status-report.first.json'))).toEqual({
      items: ['management', 'device'],
      errors: 0,
      isFull: false,
    });
    expect(parseStatusReport(fixture('ddm/status-report.not-referenced.json'))).toEqual({
      items: ['management'],
      errors: 0,
      isFull: false,
    });
  });
});
