import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const ROOT = join(__dirname, '..');
const SRC = join(ROOT, 'src');

/** What every room may import: errors, the logger, the configuration. */
const FOR_EVERYONE = ['errors.ts', 'logger.ts', 'config'];

/** They compose the others, so they may import anything. */
const COMPOSERS = ['cli', 'lab-mode', 'server', 'threads'];

/** Which room may import which. The folders of `db` are rooms of their own. */
const MAY_IMPORT: Record<string, string[]> = {
  crypto: [],
  protocol: ['crypto'],
  jsonapi: [],
  'db/connection': ['jsonapi'],
  'db/schema': ['db/connection', 'db/jobs'],
  'db/store': ['jsonapi', 'db/connection'],
  'db/admin': ['db/connection'],
  'db/enroll': ['db/connection'],
  'db/push': ['db/connection'],
  'db/dep': ['db/connection', 'db/admin', 'db/enroll'],
  'db/devices': ['db/connection', 'db/dep', 'db/enroll', 'db/push'],
  'db/device-path': ['db/connection', 'db/devices', 'db/enroll', 'db/pki', 'db/push'],
  'db/assignments': ['db/connection', 'db/admin'],
  'db/batches': [
    ...[
      'jsonapi',
      'db/connection',
      'db/admin',
      'db/store',
      'db/assignments',
      'db/devices',
      'db/push',
    ],
  ],
  'db/pki': ['db/connection'],
  'db/jobs': ['db/connection', 'db/devices'],
  'db/groups': ['jsonapi', 'db/connection', 'db/store'],
  'db/diagnosis': ['db/connection'],
  'db/backup': ['db/connection', 'db/jobs'],
  'db/processes': ['db/connection', 'db/jobs'],
  'db/doctor': ['db/connection'],
  'embedded-postgres': ['db/connection'],
  cluster: ['db/connection'],
  http: ['jsonapi'],
  events: ['jsonapi', 'db/admin'],
  auth: [...['http', 'jsonapi', 'events'], ...['db/connection', 'db/admin', 'db/processes']],
  pki: [
    ...['http', 'crypto', 'protocol', 'events'],
    ...['db/connection', 'db/pki', 'db/push', 'db/processes', 'db/admin'],
  ],
  profiles: ['crypto', 'protocol', 'db/connection', 'db/devices', 'db/admin'],
  commands: [...['crypto', 'protocol', 'db/connection', 'db/devices', 'db/device-path', 'db/push']],
  jobs: [
    ...['commands', 'pki', 'db/connection', 'db/store', 'db/jobs', 'db/processes', 'db/devices'],
    ...['db/enroll', 'db/push', 'db/admin'],
  ],
  push: ['crypto', 'protocol', 'pki', 'jobs', 'db/connection', 'db/push', 'db/processes'],
  metrics: ['http', 'pki', 'db/connection', 'db/admin', 'db/backup', 'db/dep'],
  mdm: [
    ...['http', 'crypto', 'protocol', 'pki', 'commands', 'db/connection', 'db/device-path'],
    ...['db/devices', 'db/enroll'],
  ],
  scep: [
    ...['http', 'crypto', 'protocol', 'pki', 'db/connection', 'db/pki', 'db/enroll'],
    ...['db/admin'],
  ],
  enroll: [
    ...['http', 'crypto', 'protocol', 'pki', 'commands', 'events', 'jobs', 'db/connection'],
    ...['db/enroll', 'db/dep', 'db/admin'],
  ],
  assignments: [
    ...['crypto', 'commands', 'events', 'profiles', 'jobs'],
    ...['db/connection', 'db/assignments', 'db/devices', 'db/push'],
  ],
  'setup-assistant': [
    ...['assignments', 'commands', 'jobs'],
    ...['db/connection', 'db/assignments', 'db/devices'],
  ],
  dep: [
    ...['crypto', 'protocol', 'pki', 'events', 'jobs', 'db/connection', 'db/dep', 'db/devices'],
    ...['db/pki'],
  ],
  backup: [
    ...['crypto', 'commands', 'pki', 'dep', 'events', 'jobs', 'db/connection', 'db/schema'],
    ...['db/backup', 'db/processes'],
  ],
  groups: ['jsonapi', 'jobs', 'db/connection', 'db/groups'],
  diagnosis: ['jobs', 'db/connection', 'db/diagnosis'],
  doctor: [
    'crypto',
    'pki',
    'backup',
    'cluster',
    'db/connection',
    'db/backup',
    'db/doctor',
    'db/pki',
    'db/schema',
  ],
  batches: [
    ...['crypto', 'protocol', 'commands', 'assignments', 'jobs'],
    ...['db/connection', 'db/batches', 'db/devices'],
  ],
  resources: [
    ...['jsonapi', 'assignments', 'batches', 'commands', 'pki', 'dep', 'enroll', 'groups', 'jobs'],
  ],
  api: [
    ...[
      'http',
      'auth',
      'jsonapi',
      'resources',
      'events',
      'commands',
      'pki',
      'profiles',
      'push',
      'dep',
      'jobs',
      'batches',
      'backup',
      'enroll',
      'groups',
      'diagnosis',
      'doctor',
      'assignments',
    ],
    ...['db/connection', 'db/admin', 'db/assignments', 'db/dep', 'db/devices', 'db/enroll'],
    ...['db/batches', 'db/pki', 'db/processes', 'db/push'],
  ],
  lab: ['crypto', 'protocol'],
};

/** The packages with one home, and the files or folders that may import them. */
const HOMES: Record<string, RegExp> = {
  express:
    /^(http|auth|jsonapi|api|mdm|enroll|scep|metrics|server)\/|^pki\/revocation\/revocation-router\.ts$/,
  knex: /^db\//,
  pg: /^(db|embedded-postgres)\//,
  'pg-copy-streams': /^db\//,
  commander: /^cli\//,
  pino: /^logger\.ts$/,
  helmet: /^http\//,
  'express-rate-limit': /^http\//,
  multer: /^http\//,
  compression: /^http\//,
  cors: /^http\//,
  'node-forge': /^(crypto|lab)\//,
  plist: /^lab\//,
  'jsonapi-serializer': /^cli\/api\//,
  yaml: /^cli\/schema\//,
  'graphile-worker': /^(jobs|db)\//,
  'prom-client': /^metrics\//,
  'openid-client': /^enroll\//,
  'oauth-1.0a': /^dep\//,
};

interface Import {
  file: string;
  target: string;
}

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.ts'),
);

/** `import type` counts, and so does `import('…')` in a type. */
const IMPORTS: Import[] = FILES.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  const statements = text.matchAll(
    /^(?:import|export)\s[^'"]*?from '([^']+)'|\bimport\('([^']+)'\)/gm,
  );
  return [...statements].map(([, named, inline]) => ({ file, target: named ?? inline ?? '' }));
});

function pathOf({ file, target }: Import): string {
  return relative(SRC, join(SRC, dirname(file), target)).replace(/\.js$/, '.ts');
}

/** The first folder, two of them within `db`, or the file itself where it lies at the top. */
function roomOf(path: string): string {
  const [first = '', second = '', third] = path.split('/');
  return first === 'db' && third !== undefined ? `${first}/${second}` : first;
}

const INTERNAL = IMPORTS.filter(({ target }) => target.startsWith('.'));

/** The table as ARCHITECTURE.md prints it: composers and what everyone may import are above it. */
function importTable(): string {
  const rows = Object.entries(MAY_IMPORT).map(
    ([room, targets]) => `| ${room} | ${shorten(targets).join(', ') || 'nothing'} |`,
  );
  return ['| room | may import |', '| --- | --- |', ...rows].join('\n');
}

/** Names the folders of `db` in one pair of brackets, last. */
function shorten(targets: string[]): string[] {
  const others = targets.filter((target) => !target.startsWith('db/'));
  const folders = targets.filter((target) => target.startsWith('db/')).map((t) => t.slice(3));
  return folders.length === 0 ? others : [...others, `db (${folders.join(', ')})`];
}

/** Every cycle of `edges`, as the path that closes it. */
function cyclesOf(edges: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const walk = (node: string, path: string[]): string[] => {
    if (path.includes(node)) return [[...path.slice(path.indexOf(node)), node].join(' -> ')];
    if (done.has(node)) return [];
    const found = (edges.get(node) ?? []).flatMap((next) => walk(next, [...path, node]));
    done.add(node);
    return found;
  };
  return [...edges.keys()].flatMap((node) => walk(node, []));
}

describe('architecture', () => {
  it('knows every room of src', () => {
    const rooms = new Set(FILES.map(roomOf));
    const known = [...Object.keys(MAY_IMPORT), ...COMPOSERS, ...FOR_EVERYONE];
    expect([...rooms].filter((room) => !known.includes(room))).toEqual([]);
    expect(known.filter((room) => !rooms.has(room))).toEqual([]);
  });

  it('lets each room import only what the table allows', () => {
    const forbidden = INTERNAL.filter((entry) => {
      const from = roomOf(entry.file);
      const to = roomOf(pathOf(entry));
      if (COMPOSERS.includes(from) || from === to || FOR_EVERYONE.includes(to)) return false;
      return !(MAY_IMPORT[from] ?? []).includes(to);
    });
    expect(forbidden.map((entry) => `${entry.file} -> ${pathOf(entry)}`)).toEqual([]);
  });

  it('lets resources import nothing but types from the modules that own their services', () => {
    const values = FILES.filter((file) => roomOf(file) === 'resources').flatMap((file) => {
      const text = readFileSync(join(SRC, file), 'utf8');
      const imports = text.matchAll(/^import (?!type )[^'"]*? from '\.\.\/\.\.\/([a-z-]+)\//gm);
      return [...imports].map(([, room]) => `${file} -> ${room}`);
    });
    expect(values.filter((arrow) => !/ -> (jsonapi|config)$/.test(arrow))).toEqual([]);
  });

  it('allows nothing that no file uses', () => {
    const used = new Set(
      INTERNAL.map((entry) => `${roomOf(entry.file)} -> ${roomOf(pathOf(entry))}`),
    );
    const allowed = Object.entries(MAY_IMPORT).flatMap(([room, targets]) =>
      targets.map((target) => `${room} -> ${target}`),
    );
    expect(allowed.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it('has the table printed in ARCHITECTURE.md', () => {
    const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const [printed] = page.match(/^\| room \| may import \|\n(?:\|.*\n)+/m) ?? [''];
    expect(printed.trim()).toBe(importTable());
  });

  it('keeps each package in its home', () => {
    const strays = IMPORTS.filter(({ file, target }) => HOMES[target]?.test(file) === false);
    expect(strays.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  it('has no cycle between rooms', () => {
    expect(cyclesOf(new Map(Object.entries(MAY_IMPORT)))).toEqual([]);
  });

  it('has no cycle between files, type-only imports included', () => {
    const edges = new Map<string, string[]>();
    for (const entry of INTERNAL) {
      edges.set(entry.file, [...(edges.get(entry.file) ?? []), pathOf(entry)]);
    }
    expect(cyclesOf(edges)).toEqual([]);
  });

  it('has no loose file at the top of src', () => {
    expect(FILES.filter((file) => !file.includes('/'))).toEqual(['errors.ts', 'logger.ts']);
  });

  it('reads the environment in the configuration only', () => {
    const readers = FILES.filter((file) =>
      /process\.env/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(readers.filter((file) => !['config/config.ts', 'cli/muster.ts'].includes(file))).toEqual(
      [],
    );
  });

  it('has SQL and queries in db only', () => {
    const others = FILES.filter((file) => !file.startsWith('db/'));
    const offenders = others.filter((file) =>
      /\.raw[(<]|\b(?:knex|trx)(?:<[^()]*>)?\(/.test(readFileSync(join(SRC, file), 'utf8')),
    );
    expect(offenders).toEqual([]);
  });

  it('lets migrations import nothing of src', () => {
    const directory = join(ROOT, 'migrations');
    const offenders = readdirSync(directory).filter((name) =>
      /from '\.\.?\//.test(readFileSync(join(directory, name), 'utf8')),
    );
    expect(offenders).toEqual([]);
  });

  it('keeps the tests where the sources are', () => {
    const folders = new Set(
      readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.ts') && name.includes('/'))
        .map((name) => dirname(name)),
    );
    const ownFolders = ['conformance', 'contract', 'deploy', 'e2e', 'web'];
    expect(
      [...folders].filter(
        (folder) =>
          !ownFolders.includes(folder.split('/')[0] ?? '') && !existsSync(join(SRC, folder)),
      ),
    ).toEqual([]);
  });
});
