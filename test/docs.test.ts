import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { HANDLED_TYPES } from '../src/commands/registry.js';
import { ENVIRONMENT } from '../src/config/config.js';
import { DEFINITIONS } from '../src/resources/index.js';

const ROOT = join(__dirname, '..');

function markdownIn(directory: string, recursive: boolean): string[] {
  return readdirSync(join(ROOT, directory), { recursive, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name));
}

const PAGES = [...markdownIn('.', false), ...markdownIn('docs', true)];
/** Those that name files of the source. */
const DEVELOPER_PAGES = [
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs/decisions', false),
];

/** Without fenced blocks and code spans, where brackets are no links. */
function prose(page: string): string {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return text.replace(/^```.*?^```/gms, '').replace(/`[^`\n]+`/g, 'code');
}

/** The fragment that a heading has on GitHub. */
function fragmentOf(heading: string): string {
  const text = heading.toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return text.replace(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-');
}

function fragments(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```/gms, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => fragmentOf(heading));
}

/** Relative links of a page that lead nowhere. */
function brokenLinks(page: string): string[] {
  const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', fragment] = link.split('#');
    const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, file))) return true;
    return fragment !== undefined && !fragments(file).includes(fragment);
  });
}

/** Addresses that the API also answers by GET for older clients, though they change something. */
const CHANGES_STATE = /\/(clear_passcode|devices\/(inventory|test)\/|certificate\/download)/;

/** Calls of curl in the page's commands, continued lines joined. */
function curlCalls(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replace(/\\\n\s*/g, ' ');
  return text.split('\n').filter((line) => /\bcurl |\bnew /.test(line));
}

/** Where a path in a page may start, and its ending that the page may leave out. */
const CANDIDATES = [
  (path: string) => join(ROOT, path),
  (path: string) => join(ROOT, 'src', path),
  (path: string) => join(ROOT, 'src', `${path}.ts`),
  (path: string) => join(ROOT, `${path}.test.ts`),
];

/** A path of the project, as against one on the web or below DATA_DIR. */
function isOurs(path: string): boolean {
  const [first = ''] = path.split('/');
  return CANDIDATES.some((place) => existsSync(place(first)));
}

/** Every string of the source, its parts joined where an expression builds it from several. */
function sourceTexts(): string {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const texts = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'));
  return texts
    .join('\n')
    .replace(/['"`]\s*\+\s*['"`]/g, '')
    .replaceAll('`', '');
}

/** The messages that a page quotes, as log lines, code or headings; `…` stands for what differs. */
function messages(page: string): string[] {
  const whole = readFileSync(join(ROOT, page), 'utf8');
  const logged = [...whole.matchAll(/"msg":"([^"]+)"/g)].map(([, message = '']) => message);
  return [...logged.map((message) => message.replace(/http\S+/, '…')), ...quoted(page, whole)];
}

function quoted(page: string, whole: string): string[] {
  const text = whole.replace(/^ *```.*?^ *```/gms, '');
  const spans = [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replace(/\s+/g, ' '));
  const sentences = spans.filter((span) => /^(an?|the) [^/]+$/i.test(span));
  if (!page.endsWith('troubleshooting.md')) return sentences;
  const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading);
  return [...headings.map((heading) => heading.replaceAll('`', '')), ...sentences];
}

describe('the documentation', () => {
  it.each(PAGES)('%s has only relative links that resolve, to files and to headings', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it.each(PAGES)('%s changes state by POST, not by GET', (page) => {
    const calls = curlCalls(page).filter((call) => CHANGES_STATE.test(call));
    expect(calls.filter((call) => !call.includes('-X POST'))).toEqual([]);
  });

  it('has a README of at most 8 KB that links to every page', () => {
    expect(statSync(join(ROOT, 'README.md')).size).toBeLessThanOrEqual(8 * 1024);
    const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const linked = [...text.matchAll(/\]\(([^)#]+)/g)].map(([, target]) => target);
    const pages = readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
    expect(pages.filter((page) => !linked.includes(page))).toEqual([]);
  });

  it.each([
    ['docs/configuration.md', 'setting', Object.keys(ENVIRONMENT.shape)],
    ['docs/api.md', 'collection', DEFINITIONS.map(({ path }) => path.slice(1))],
    ['docs/commands.md', 'command whose answer becomes facts', HANDLED_TYPES],
  ])('%s names every %s', (page, _what, names) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('lists every decision in docs/decisions/README.md', () => {
    const list = readFileSync(join(ROOT, 'docs/decisions/README.md'), 'utf8');
    const decisions = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => /^\d/.test(name));
    expect(decisions.filter((name) => !list.includes(`(${name})`))).toEqual([]);
  });

  it.each(['README.md', ...markdownIn('docs', true)])(
    '%s quotes messages as the source has them',
    (page) => {
      const source = sourceTexts();
      const unknown = messages(page).filter((message) => {
        const parts = message.split('…').map((part) => part.replace(/^[^\w]+|[^\w]+$/g, ''));
        return !parts.every((part) => source.includes(part));
      });
      expect(unknown).toEqual([]);
    },
  );

  it('has an ARCHITECTURE.md of at most 10 KB', () => {
    expect(statSync(join(ROOT, 'ARCHITECTURE.md')).size).toBeLessThanOrEqual(10 * 1024);
  });

  it.each(DEVELOPER_PAGES)('%s names only files and folders that exist', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```/gms, '');
    const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
    const words = spans.flatMap((span) => span.split(' '));
    const paths = words.filter((word) => /^[a-z][\w.-]*\/[\w./-]*$/.test(word) && isOurs(word));
    const missing = paths.filter((path) => !CANDIDATES.some((place) => existsSync(place(path))));
    expect(missing).toEqual([]);
  });
});
