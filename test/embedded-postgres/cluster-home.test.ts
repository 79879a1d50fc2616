import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ensureDataDir, placeCluster } from '../../src/embedded-postgres/cluster-home.js';
import { createLogger } from '../../src/logger.js';
import { removeTemporaryDirectories, temporaryDirectory } from '../helpers/temporary-directory.js';

const OUTSIDER = { name: 'outsider', uid: 4_000_001, gid: 4_000_001 };
const logger = createLogger('silent');

let elsewhere: string;

beforeAll(() => {
  elsewhere = join(temporaryDirectory(), 'elsewhere');
});
afterAll(removeTemporaryDirectories);

function place(dataDir: string): string {
  return placeCluster({ dataDir, account: OUTSIDER, elsewhere, logger });
}

function closedDirectory(): string {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o700);
  return directory;
}

describe('the place of a cluster', () => {
  it('is in the data directory when the account can reach it', () => {
    const dataDir = temporaryDirectory();
    expect(place(dataDir)).toBe(join(dataDir, 'postgres'));
    expect(existsSync(join(dataDir, 'postgres-directory'))).toBe(false);
  });

  it('is elsewhere when the account cannot reach it, and stays there when it can', () => {
    const dataDir = closedDirectory();
    const home = place(dataDir);
    expect(home).toMatch(new RegExp(`^${elsewhere}/[0-9a-f]{16}$`));
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(dataDir, 'postgres-directory'), 'utf8')).toBe(`${home}\n`);
    chmodSync(dataDir, 0o755);
    expect(place(dataDir)).toBe(home);
  });

  it('differs between data directories', () => {
    expect(place(closedDirectory())).not.toBe(place(closedDirectory()));
  });

  it('is refused when it was elsewhere before and is missing now', () => {
    const dataDir = closedDirectory();
    const home = place(dataDir);
    rmSync(home, { recursive: true });
    expect(() => place(dataDir)).toThrow(
      `The database of ${dataDir} is kept in ${home}, which is missing`,
    );
  });

  it('is refused when a cluster is in a data directory that has been closed', () => {
    const dataDir = closedDirectory();
    mkdirSync(join(dataDir, 'postgres', 'data'), { recursive: true });
    expect(() => place(dataDir)).toThrow(`open ${dataDir} to it (chmod o+x)`);
  });
});

describe('the data directory', () => {
  it('is created, unreadable for others', () => {
    const dataDir = join(temporaryDirectory(), 'a', 'b');
    expect(ensureDataDir(dataDir)).toBe(dataDir);
    expect(statSync(dataDir).mode & 0o066).toBe(0);
  });

  it('is refused when it cannot be created', () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    expect(() => ensureDataDir(join(file, 'data'))).toThrow(
      `${join(file, 'data')} cannot be made (it is DATA_DIR)`,
    );
  });
});
