import { createHmac } from 'node:crypto';
import { oauthHeader } from '../../../src/dep/client/oauth.js';

function parametersOf(header: string): Map<string, string> {
  const pairs = [...header.replace(/^OAuth /, '').matchAll(/(\w+)="([^"]*)"/g)];
  return new Map(pairs.map(([, name = '', value = '']) => [name, decodeURIComponent(value)]));
}

/** RFC 5849, 3.6. */
function encode(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      const isUnreserved = /[A-Za-z0-9\-._~]/.test(character);
      return isUnreserved ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** RFC 5849, 3.4.1 and 3.4.2, of a request with no other parameters than those of the header. */
function expectedSignature(
  base: string,
  parameters: Map<string, string>,
  [consumerSecret, tokenSecret]: [string, string],
): string {
  const normalized = [...parameters]
    .filter(([name]) => name !== 'realm' && name !== 'oauth_signature')
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const text = `GET&${encode(base)}&${encode(normalized)}`;
  const key = `${encode(consumerSecret)}&${encode(tokenSecret)}`;
  return createHmac('sha1', key).update(text).digest('base64');
}

describe('the Authorization header of a login', () => {
  it('has the signature of the example of OAuth Core 1.0, appendix A.5', () => {
    const header = oauthHeader(
      { method: 'GET', url: 'http://photos.example.net/photos?file=vacation.jpg&size=original' },
      {
        consumerKey: 'dpf43f3p2l4k3l03',
        consumerSecret: 'kd94hf93k423kf44',
        accessToken: 'nnch734d00sl2jdk',
        accessSecret: 'pfkkdhi9sl3r4s00',
      },
      { now: 1_191_242_096_000, nonce: 'kllo9940pd9333jh', realm: 'http://photos.example.net/' },
    );
    expect(header).toBe(
      'OAuth realm="http://photos.example.net/", oauth_consumer_key="dpf43f3p2l4k3l03", ' +
        'oauth_nonce="kllo9940pd9333jh", oauth_signature="tR3%2BTy81lMeYAr%2FFid0kMTYa%2FWM%3D", ' +
        'oauth_signature_method="HMAC-SHA1", oauth_timestamp="1191242096", ' +
        'oauth_token="nnch734d00sl2jdk", oauth_version="1.0"',
    );
  });

  it('signs odd characters and another port as RFC 5849 says', () => {
    const base = 'https://localhost:8443/base/session';
    const header = oauthHeader(
      { method: 'GET', url: base },
      {
        consumerKey: "CK_ü/+='()*!",
        consumerSecret: 'se&cret%/',
        accessToken: 'AT ~&',
        accessSecret: "x'*",
      },
      { now: 1_800_000_000_999 },
    );
    const parameters = parametersOf(header);
    expect(parameters.get('oauth_signature')).toBe(
      expectedSignature(base, parameters, ['se&cret%/', "x'*"]),
    );
    expect(parameters.get('realm')).toBe('ADM');
    expect(parameters.get('oauth_timestamp')).toBe('1800000000');
    expect(parameters.get('oauth_consumer_key')).toBe("CK_ü/+='()*!");
  });

  it.each([
    ['https://MDMenrollment.Apple.com:443/session', 'https://mdmenrollment.apple.com/session'],
    ['http://LOCALHOST:80/a/../session', 'http://localhost/session'],
    ['https://localhost:8443', 'https://localhost:8443/'],
  ])('signs %s as %s', (url, base) => {
    const token = { consumerKey: 'c', consumerSecret: 's', accessToken: 'a', accessSecret: 't' };
    const parameters = parametersOf(oauthHeader({ method: 'GET', url }, token, { now: 0 }));
    const expected = expectedSignature(base, parameters, ['s', 't']);
    expect(parameters.get('oauth_signature')).toBe(expected);
  });

  // The example of RFC 5849, 3.4.1, as far as it lies in the URL, with reserved characters in what
  // is secret; its signature was made by OpenSSL from a base string written by hand.
  it('signs escaped, empty and unusual parameters of a query', () => {
    const header = oauthHeader(
      {
        method: 'GET',
        url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&c%40=&a2=r%20b&z=1=2&s=a+b',
      },
      {
        consumerKey: '9djdj82h48djs9d2',
        consumerSecret: 'j49sk3j29djd&%=+/ ü',
        accessToken: 'kkk9d7dh3k39sjv7',
        accessSecret: "dh893hdasih9'()*!~",
      },
      { now: 137_131_201_000, nonce: '7d8f3e4a' },
    );
    expect(parametersOf(header).get('oauth_signature')).toBe('TCaGCqFzhh0hUkuj0DFOzsgfEFk=');
  });

  it('never contains the same nonce twice', () => {
    const token = { consumerKey: 'c', consumerSecret: 's', accessToken: 'a', accessSecret: 't' };
    const request = { method: 'GET', url: 'https://localhost/session' };
    const nonces = Array.from({ length: 20 }, () =>
      parametersOf(oauthHeader(request, token, { now: 0 })).get('oauth_nonce'),
    );
    expect(new Set(nonces).size).toBe(20);
    expect(nonces.every((nonce) => /^[0-9a-f]{32}$/.test(nonce ?? ''))).toBe(true);
  });
});
