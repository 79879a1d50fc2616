import { join } from 'node:path';
import { openSsl } from '../crypto/openssl.js';
import { preparedDataDir } from '../helpers/prepared-data.js';
import { cleanUp, freePort, newHome, runToEnd, type Server, serve } from '../helpers/process.js';

let dataDir: string;
let server: Server;

beforeAll(async () => {
  dataDir = await preparedDataDir();
  server = await serve({ dataDir });
});
afterAll(cleanUp);

function api(args: string[], env: Record<string, string> = { PUBLIC_URL: server.url }) {
  return runToEnd(['api', ...args], { dataDir, env });
}

describe('muster api, beside a running server', () => {
  it('reads with the token of the data directory', async () => {
    const { code, output } = await api(['GET', '/devices?page[size]=5']);
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ data: [], meta: { count: 0, total: 0 } });
  });

  it('writes, and exits with 1 when it is refused', async () => {
    const made = await api(['POST', '/tags', '-f', 'name=red', '--field', 'color=ff0000']);
    expect(made.code).toBe(0);
    expect(JSON.parse(made.output)).toMatchObject({ data: { attributes: { name: 'red' } } });
    const again = await api(['POST', '/tags', '-f', 'name=red']);
    expect(again.code).toBe(1);
    expect(again.output).toContain('muster: 409 Conflict\n');
    expect(again.output).toContain('"already_exists"');
  });

  it('says in one line what is missing', async () => {
    const port = await freePort();
    const away = await api(['GET', '/tags', '--url', `http://127.0.0.1:${port}`]);
    expect(away).toEqual({
      code: 1,
      output: `muster: nothing listens at http://127.0.0.1:${port}: is the server running? (--url names another)\n`,
    });
    const lost = await runToEnd(['api', 'GET', '/tags', '--url', server.url], {
      dataDir: newHome(),
    });
    expect([lost.code, lost.output]).toEqual([
      1,
      expect.stringMatching(/^muster: no token: .*\n$/),
    ]);
  });

  it('trusts a server of a CA of its own by --ca', async () => {
    const tool = openSsl();
    tool.run(
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-sha256', '-days', '2'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', 'key.pem', '-out', 'cert.pem'],
    );
    const home = newHome();
    const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')];
    tool.run('x509', '-in', 'cert.pem', '-out', cert);
    tool.run('rsa', '-in', 'key.pem', '-out', key);
    tool.remove();
    const other = await preparedDataDir();
    const secure = await serve({
      dataDir: other,
      env: { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, PUBLIC_URL: 'https://127.0.0.1' },
    });
    const get = ['api', 'GET', '/tags', '--url', secure.url];
    const refused = await runToEnd(get, { dataDir: other });
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('--ca FILE')]);
    expect((await runToEnd([...get, '--ca', cert], { dataDir: other })).code).toBe(0);
  });
});
