import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const SRC = join(__dirname, '..', '..', 'web', 'src');

/** Features are rooms of their own: the shell composes them, and none imports another. */
const MAY_IMPORT: Record<string, string[]> = {
  'main.tsx': ['api', 'shell', 'ui'],
  // Panels that show the state of a query stand beside the client.
  api: ['ui', 'text'],
  text: [],
  ui: [],
  shell: ['api', 'ui', 'text', 'features'],
  features: ['api', 'ui', 'text'],
};

const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.tsx?$/.test(name),
);

function textOf(file: string): string {
  return readFileSync(join(SRC, file), 'utf8');
}

function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g);
  return [...found].map(([, target = '']) => relative(SRC, join(SRC, dirname(file), target)));
}

function isAllowed(file: string, target: string): boolean {
  const [from = '', feature] = file.split('/');
  const [to = '', other] = target.split('/');
  if (from === to) return from !== 'features' || feature === other;
  return (MAY_IMPORT[from] ?? []).includes(to);
}

describe('the console', () => {
  it('imports in one direction: ui imports no feature, and no feature imports another', () => {
    const forbidden = FILES.flatMap((file) =>
      importsOf(file)
        .filter((target) => !isAllowed(file, target))
        .map((target) => `${file} -> ${target}`),
    );
    expect(FILES.length).toBeGreaterThan(20);
    expect(forbidden).toEqual([]);
  });

  it('has no query and no term of device management in ui', () => {
    const offenders = FILES.filter((file) => file.startsWith('ui/')).filter((file) =>
      /react-query|openapi-fetch|\b(?:devices?|commands?|enroll\w*|MDM)\b/i.test(textOf(file)),
    );
    expect(offenders).toEqual([]);
  });

  it('makes every mutation by the hook that a double click starts once', () => {
    const offenders = FILES.filter((file) => /\buseMutation\b[^;]*react-query/.test(textOf(file)));
    expect(offenders).toEqual(['api/mutation.ts']);
  });

  it('writes no HTML and stores nothing in the browser but the theme, the columns and places of lists and a reload', () => {
    const offenders = FILES.filter((file) =>
      /dangerouslySetInnerHTML|localStorage|sessionStorage|\beval\(/.test(textOf(file)),
    );
    const allowed = [
      'features/devices/kept-columns.ts',
      'shell/lazy-page.ts',
      'ui/theme.ts',
      'ui/use-kept-scroll.ts',
    ];
    expect(offenders.sort()).toEqual(allowed);
  });
});
