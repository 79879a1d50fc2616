import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUp, newHome, processesOf, runToEnd } from '../helpers/process.js';

const dataDir = join(newHome(), 'data');

function pushCert(...args: string[]) {
  return runToEnd(['push-cert', ...args], { dataDir });
}

afterAll(cleanUp);

describe('muster push-cert', () => {
  it('exits with 2 when the command line is wrong', async () => {
    expect(await pushCert('import')).toEqual({
      code: 2,
      output: 'muster: use either --cert or --p12\n',
    });
  });

  it('exits with 1 when a file is', async () => {
    const file = join(newHome(), 'apple.pem');
    writeFileSync(file, 'what Apple sent');
    expect(await pushCert('import', '--cert', file)).toEqual({
      code: 1,
      output: `muster: ${file}: it is neither PEM, DER nor PKCS #12\n`,
    });
  });

  it('makes no database where no server ever ran, and leaves nothing running', async () => {
    const { code, output } = await pushCert(
      ...['request', '--apple-account', 'mdm@example.com', '--out', '-'],
    );
    expect({ code, output }).toEqual({
      code: 1,
      output: expect.stringContaining(`There is no database in DATA_DIR (${dataDir})`),
    });
    expect(existsSync(dataDir)).toBe(false);
    expect(processesOf(dataDir)).toEqual([]);
  });
});
