import {
  MEASURED_ON,
  type PlannedEffect,
  type PlannedStep,
} from '../../db/schema/migration-plan.js';

/** The plan for people: what each migration does, and what others cannot do meanwhile. */
export function planLines(steps: readonly PlannedStep[]): string[] {
  const count = steps.reduce((sum, { migrations }) => sum + migrations.length, 0);
  if (count === 0) return ['nothing to do: the schema is up to date'];
  const head = `${counted(count, 'migration')} in ${counted(steps.length, 'step')}. Nothing was changed.`;
  return [head, ...steps.flatMap((step, index) => ['', ...stepLines(step, index + 1)])];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function stepLines({ inTransaction, migrations }: PlannedStep, number: number): string[] {
  const how = inTransaction
    ? 'one transaction; if it fails, the schema stays as it was before this step'
    : 'outside a transaction; if it is interrupted, the next start does it again';
  const effects = migrations.flatMap((migration) => migration.effects);
  return [
    `Step ${number}: ${how}.`,
    ...migrations.flatMap((migration) => [
      `  ${migration.name}`,
      ...migration.effects.map((effect) => `    ${effectText(effect)}`),
      ...(migration.effects.length === 0
        ? ['    what it does depends on the rows that it finds']
        : []),
    ]),
    `  ${blockedText(effects, inTransaction)}`,
    `  ${measuredText(migrations.map(({ measuredMs }) => measuredMs))}`,
  ];
}

/** What the step took where it was tried. */
function measuredText(times: (number | undefined)[]): string {
  const known = times.filter((ms) => ms !== undefined);
  if (known.length === 0) return 'How long it takes was not measured.';
  const seconds = (known.reduce((sum, ms) => sum + ms, 0) / 1000).toFixed(1);
  const [devices, commands] = [MEASURED_ON.devices, MEASURED_ON.commands].map((count) =>
    count.toLocaleString('en'),
  );
  const which =
    known.length === times.length ? 'It' : `${known.length} of these ${times.length} migrations`;
  return `${which} took ${seconds} s where it was tried: ${devices} devices, ${commands} commands, and 2 cores.`;
}

/** Between what is done and the table. */
const PREPOSITIONS: Record<string, string> = {
  'adds the column': 'to',
  'adds the constraint': 'to',
  'adds rows': 'to',
  'builds the index': 'on',
  'adds the trigger': 'on',
  'drops the index': 'on',
  'drops the trigger': 'on',
};
const WITHOUT_PREPOSITION = [
  'refers to',
  'no longer refers to',
  'drops the table',
  'locks',
  'changes',
];
const MAX_NAMES = 8;

function effectText({ kind, names, table, rows }: PlannedEffect): string {
  const what = names.length > 1 ? plural(kind) : kind;
  const shown = names.slice(0, MAX_NAMES);
  const more = names.length - shown.length;
  const list = [shown.join(', '), ...(more > 0 ? [`and ${more} more`] : [])].join(' ');
  const preposition = WITHOUT_PREPOSITION.includes(kind) ? '' : (PREPOSITIONS[kind] ?? 'of');
  const place = table === undefined ? '' : `${preposition} ${table}`;
  const size = rows === undefined ? '' : `(about ${Math.round(rows).toLocaleString('en')} rows)`;
  return [what, list, place.trim(), size].filter((part) => part !== '').join(' ');
}

function plural(kind: string): string {
  // These kinds are verbs, which have no plural.
  if (kind === 'runs' || kind === 'changes' || kind === 'locks') return kind;
  return kind.endsWith('index') ? `${kind}es` : `${kind}s`;
}

function blockedText(effects: PlannedEffect[], inTransaction: boolean): string {
  const tablesOf = (wanted: PlannedEffect['blocks']) => [
    ...new Set(effects.flatMap(({ blocks, table = '' }) => (blocks === wanted ? [table] : []))),
  ];
  const all = tablesOf('reads and writes').filter((table) => table !== '');
  const writes = tablesOf('writes').filter((table) => table !== '' && !all.includes(table));
  const parts = [
    ...(all.length > 0 ? [`reads and writes of ${all.join(', ')}`] : []),
    ...(writes.length > 0 ? [`writes of ${writes.join(', ')}`] : []),
  ];
  if (parts.length === 0) return 'Blocks nothing.';
  const howLong = inTransaction ? 'until the step has ended' : 'for a moment';
  return `Blocks ${parts.join(', and ')} ${howLong}.`;
}
