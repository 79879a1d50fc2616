import { curlLine } from '../../web/src/ui/curl.js';

const ORIGIN = 'https://mdm.example';
const HEADER = 'curl -sg -H "Authorization: Bearer $TOKEN"';

describe('a request as a line for the shell', () => {
  it('leaves the brackets of a query readable', () => {
    const path = '/api/v1/devices?fields%5Bdevices%5D=udid%2Chealth';
    expect(curlLine({ path }, ORIGIN)).toBe(
      `${HEADER} 'https://mdm.example/api/v1/devices?fields[devices]=udid,health'`,
    );
  });

  it('has the method and the body, with quotes that the shell leaves alone', () => {
    const request = { path: '/api/v1/tags', method: 'POST', body: { name: "Ada's" } };
    expect(curlLine(request, ORIGIN)).toBe(
      `${HEADER} -X POST -H 'Content-Type: application/vnd.api+json' ` +
        `-d '{"name":"Ada'\\''s"}' 'https://mdm.example/api/v1/tags'`,
    );
  });

  it('names another media type', () => {
    const line = curlLine({ path: '/api/v1/tags', accept: 'text/csv' }, ORIGIN);
    expect(line).toContain(`-H 'Accept: text/csv'`);
  });
});
