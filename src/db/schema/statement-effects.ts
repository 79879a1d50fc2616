import { splitList } from './sql-statements.js';

/** What other sessions cannot do to the table until the transaction ends. */
export type Blocked = 'nothing' | 'writes' | 'reads and writes';

/** What a statement does to one table, or to something other than a table. */
export interface Effect {
  /** Effects of one kind on one table are shown together: `adds` columns, `builds the index` … */
  kind: string;
  /** Name of what is added, built, dropped. */
  name: string;
  table?: string | undefined;
  blocks: Blocked;
  /** Takes longer the more rows the table has. */
  grows: boolean;
}

type Rule = [pattern: RegExp, effects: (match: string[], statement: string) => Effect[]];

const NAME = '([\\w."]+)';

function rule(pattern: string, effects: Rule[1]): Rule {
  return [new RegExp(`^${pattern.replaceAll('NAME', NAME)}`, 'i'), effects];
}

function effect(kind: string, name = '', table?: string): Effect {
  return { kind, name, table, blocks: 'nothing', grows: false };
}

/** By PostgreSQL's manual, "Explicit Locking" and the page of each command. The first that matches counts. */
const RULES: Rule[] = [
  rule('create (?:unlogged )?table (?:if not exists )?NAME', ([, name], statement) => [
    effect('creates the table', name),
    ...referenced(statement),
  ]),
  rule(
    'create (?:unique )?index (concurrently )?(?:if not exists )?NAME on (?:only )?NAME',
    ([, concurrently, name, table]) => {
      const blocks = concurrently === undefined ? 'writes' : 'nothing';
      return [{ ...effect('builds the index', name, table), blocks, grows: true }];
    },
  ),
  rule('alter table (?:if exists )?(?:only )?NAME (.*)$', ([, table = '', actions = '']) =>
    splitList(actions).flatMap((action) => alteration(table, action)),
  ),
  rule('create (?:or replace )?(?:constraint )?trigger NAME .*? on NAME', ([, name, table]) => [
    { ...effect('adds the trigger', name, table), blocks: 'writes' },
  ]),
  rule('drop trigger (?:if exists )?NAME on NAME', ([, name, table]) => [
    { ...effect('drops the trigger', name, table), blocks: 'reads and writes' },
  ]),
  rule('drop table (?:if exists )?(.*?)(?: cascade)?$', ([, names = '']) =>
    splitList(names).map((name) => ({
      ...effect('drops the table', '', name),
      blocks: 'reads and writes',
    })),
  ),
  rule('drop index (concurrently )?(?:if exists )?NAME', ([, concurrently, name]) => {
    const blocks = concurrently === undefined ? 'reads and writes' : 'nothing';
    return [{ ...effect('drops the index', name), blocks }];
  }),
  rule('lock table NAME in ([\\w ]+) mode', ([, table, mode = '']) => [
    { ...effect('locks', '', table), blocks: blockedBy(mode) },
  ]),
  rule('create (?:or replace )?(function|view) NAME', ([, kind = '', name]) => [
    effect(`defines the ${kind.toLowerCase()}`, name),
  ]),
  rule('drop (function|view) (?:if exists )?NAME', ([, kind = '', name]) => [
    effect(`drops the ${kind.toLowerCase()}`, name),
  ]),
  rule('create extension (?:if not exists )?NAME', ([, name]) => [
    effect('enables the extension', name),
  ]),
  rule('(?:begin|commit|set|reset|select|comment)\\b', () => []),
];

/** Changes of rows, also in a CTE; `for update` and `do update` are not changes. */
const CHANGES = /\b(insert into|(?<!\b(?:for|do|key) )update|delete from) (?:only )?([\w."]+)/gi;
const VERBS: Record<string, string> = {
  'insert into': 'adds rows',
  update: 'changes rows',
  'delete from': 'removes rows',
};

/** The effects of a statement, written in one line. Unknown statements are named by their first words. */
export function effectsOf(statement: string): Effect[] {
  for (const [pattern, effects] of RULES) {
    const match = pattern.exec(statement);
    if (match !== null) return effects([...match], statement);
  }
  const changes = /^(?:with|insert|update|delete)\b/i.test(statement)
    ? [...statement.replace(/'(?:[^']|'')*'/g, "''").matchAll(CHANGES)]
    : [];
  if (changes.length === 0) return [effect('runs', statement.split(' ').slice(0, 4).join(' '))];
  return changes.map(([, verb = '', table]) => {
    const kind = VERBS[verb.toLowerCase()] ?? verb;
    return { ...effect(kind, '', table), grows: verb.toLowerCase() !== 'insert into' };
  });
}

/** A foreign key blocks writes of the table that it refers to. */
function referenced(text: string): Effect[] {
  return [...text.matchAll(new RegExp(`\\breferences ${NAME}`, 'gi'))].map(([, table]) => ({
    ...effect('refers to', '', table),
    blocks: 'writes',
  }));
}

const ADD_COLUMN =
  /^add (?:column )?(?:if not exists )?(?!constraint\b|check\b|unique\b|primary\b|foreign\b)([\w"]+) (.*)$/i;
const DEFAULT_CALL = /default (?!now\(\))[^,]*\(/i;
const READS_ROWS =
  /\breferences\b|\bcheck\b|\bunique\b|primary key|generated always as \(|as identity/i;

function alteration(table: string, action: string): Effect[] {
  const on = (kind: string, name = '', grows = false): Effect => {
    return { ...effect(kind, name, table), blocks: 'reads and writes', grows };
  };
  const [, column, definition = ''] = ADD_COLUMN.exec(action) ?? [];
  if (column !== undefined) {
    const grows = READS_ROWS.test(definition) || DEFAULT_CALL.test(definition);
    return [on('adds the column', column, grows), ...referenced(definition)];
  }
  if (/^drop (?:column|constraint)/i.test(action)) {
    const [, kind = '', name] =
      /^drop (column|constraint) (?:if exists )?([\w"]+)/i.exec(action) ?? [];
    return [on(`drops the ${kind.toLowerCase()}`, name)];
  }
  if (/^validate constraint/i.test(action)) {
    return [{ ...effect('checks the rows', '', table), grows: true }];
  }
  if (/^add /i.test(action)) {
    const name = /^add constraint ([\w"]+)/i.exec(action)?.[1];
    return [on('adds the constraint', name, !/\bnot valid$/i.test(action)), ...referenced(action)];
  }
  if (/^(?:re)?set \(|^alter (?:column )?[\w"]+ set (?:statistics|\()/i.test(action)) {
    return [effect('sets the storage', '', table)];
  }
  const rewrites = /^alter .*(?: type | set not null)/i.test(action);
  return [on('changes', '', rewrites)];
}

function blockedBy(mode: string): Blocked {
  if (/^access exclusive$/i.test(mode)) return 'reads and writes';
  return /^(?:share|share row exclusive|exclusive)$/i.test(mode) ? 'writes' : 'nothing';
}
