import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

type Value = number | string | boolean;

/** The same with values that are not the defaults. */
type Options<Defaults> = {
  [Name in keyof Defaults]: Defaults[Name] extends number
    ? number
    : Defaults[Name] extends string
      ? string
      : boolean;
};

/**
 * What stands on the command line, in place of the defaults. A number must be greater than 0; a flag has no
 * value. `--help` prints the comment that the script begins with. Ends the process where it stops here.
 */
export function readOptions<Defaults extends Record<string, Value>>(
  defaults: Defaults,
): Options<Defaults> {
  try {
    const { values } = parseArgs({
      options: {
        ...Object.fromEntries(Object.entries(defaults).map(([name, one]) => [name, kindOf(one)])),
        help: { type: 'boolean' },
      },
    });
    if (values.help === true) return endWithHelp();
    const entries = Object.entries(defaults).map(([name, usual]) => {
      const given: unknown = (values as Record<string, unknown>)[name];
      return [name, given === undefined ? usual : chosen(name, given, usual)];
    });
    return Object.fromEntries(entries) as Options<Defaults>;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return process.exit(2);
  }
}

function kindOf(value: Value): { type: 'boolean' | 'string' } {
  return { type: typeof value === 'boolean' ? 'boolean' : 'string' };
}

function chosen(name: string, given: unknown, usual: Value): unknown {
  if (given === '') throw new Error(`--${name} takes a value`);
  if (typeof usual !== 'number') return given;
  const value = Number(given);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${name} takes a number above 0, not "${given}"`);
}

function endWithHelp(): never {
  const [, script = ''] = process.argv;
  const [comment = ''] = readFileSync(script, 'utf8').split(/^(?!\/\/)/m);
  process.stdout.write(comment.replaceAll(/^\/\/ ?/gm, ''));
  return process.exit(0);
}
