import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../helpers/process.js';

const ROOMS = ['src/doctor', 'src/cli/doctor'];

/** The codes that stand in the sources; the others are made of names there, or come from other rooms. */
function codesInSources(): Set<string> {
  const files = ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, room, name), 'utf8')),
  );
  const called = /(?:\berror|\bwarning|\(isVery \? error : warning\))\(\s*'([a-z_0-9]+)'/g;
  const named = /\bcode: '([a-z_]+)'/g;
  const codes = files.flatMap((text) => [...text.matchAll(called), ...text.matchAll(named)]);
  return new Set(codes.map(([, code]) => code ?? ''));
}

describe('the codes of findings', () => {
  it('stand in docs/operations.md, where somebody searches for them', () => {
    const codes = [...codesInSources()];
    const made = ['database_fsync_off', 'database_full_page_writes_off', 'check_failed'];
    const text = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    expect(codes.length).toBeGreaterThan(50);
    expect([...codes, ...made].filter((code) => !text.includes(`\`${code}\``))).toEqual([]);
  });
});
