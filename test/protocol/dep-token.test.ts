import { parseTokenText, readDepToken } from '../../src/protocol/dep-token.js';
import { fixture } from '../crypto/identities.js';

const MEMBERS = {
  consumer_key: 'CK_1',
  consumer_secret: 'CS_1',
  access_token: 'AT_1',
  access_secret: 'AS_1',
  access_token_expiry: '2031-01-15T09:30:00Z',
};
const JSON_TEXT = JSON.stringify(MEMBERS);
const parse = (text: string) => parseTokenText(Buffer.from(text));

function faultOf(change: Record<string, unknown>): string {
  try {
    readDepToken({ ...MEMBERS, ...change });
    return '';
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_token', status: 422 });
    return (error as Error).message;
  }
}

describe('the text of a server token', () => {
  it('is undefined for bytes that are no JSON object', () => {
    const texts = ['', 'x', '1', 'null', '[]', '"x"', `${JSON_TEXT}}`, `x${JSON_TEXT}`];
    for (const text of [...texts, `{"a":"${'x'.repeat(70_000)}"}`, '['.repeat(60_000)]) {
      expect([text.slice(0, 20), parse(text)]).toEqual([text.slice(0, 20), undefined]);
    }
  });

  it('is read between lines of BEGIN and END MESSAGE, or alone', () => {
    const [begin, end] = ['-----BEGIN MESSAGE-----', '-----END MESSAGE-----'];
    const forms = [
      JSON_TEXT,
      `\ufeff${JSON_TEXT}\n`,
      ...['\n', '\r\n', '\r\n\r\n'].map((line) => [begin, JSON_TEXT, end, ''].join(line)),
      [begin, JSON_TEXT, end].join('\n'),
    ];
    for (const form of forms) expect(parse(form)).toEqual(MEMBERS);
  });
});

describe('a server token', () => {
  it('has all four credentials, of visible characters', () => {
    expect(faultOf({ consumer_key: undefined, access_secret: null })).toBe(
      'what the file holds is no server token: consumer_key is missing; access_secret is missing',
    );
    for (const value of ['', 'a b', 'a\n', 'ä', 'x'.repeat(1001), 7, {}, []]) {
      expect(faultOf({ access_token: value })).toContain('access_token is not as in a token');
    }
    expect(() => readDepToken(JSON.parse('{"__proto__":{"consumer_key":"x"}}'))).toThrow(
      'consumer_key is missing',
    );
  });

  it('may lack its expiry, but not have an invalid one', () => {
    for (const value of ['soon', '2031-01-15', '2031-01-15T09:30:00', '2031-13-15T09:30:00Z', 7]) {
      expect(faultOf({ access_token_expiry: value })).toContain(
        'access_token_expiry is not an ISO',
      );
    }
    for (const value of [undefined, null, '']) {
      expect(readDepToken({ ...MEMBERS, access_token_expiry: value }).expiry).toBeNull();
    }
    const east = readDepToken({ ...MEMBERS, access_token_expiry: '2031-01-15T09:30+02:00' });
    expect(east.expiry).toEqual(new Date('2031-01-15T07:30:00Z'));
  });

  it('is read as Apple writes it, with unknown members', () => {
    const members = parse(fixture('dep/server-token.1.expected.json').toString()) ?? {};
    expect(readDepToken({ ...members, more: 1 })).toEqual({
      consumerKey: members.consumer_key,
      consumerSecret: members.consumer_secret,
      accessToken: members.access_token,
      accessSecret: members.access_secret,
      expiry: new Date('2031-01-15T09:30:00Z'),
    });
  });
});
