import { type ApiRule, type Block, newBlock, newCondition, readRule, writeRule } from './rule';

/** A rule while it is changed: as a form, or as text where the form cannot show it. */
export type RuleDraft =
  | { mode: 'form'; block: Block }
  | { mode: 'json'; text: string; isFormable: boolean };

export function draftOf(rule: readonly unknown[] | null | undefined): RuleDraft {
  if (rule === null || rule === undefined) {
    return { mode: 'form', block: newBlock('all', [newCondition()]) };
  }
  const block = readRule(rule);
  if (block !== undefined) return { mode: 'form', block };
  return { mode: 'json', text: JSON.stringify(rule, null, 2), isFormable: false };
}

/** Undefined while the draft is not whole. */
export function ruleOf(draft: RuleDraft): ApiRule[] | undefined {
  return draft.mode === 'form' ? writeRule(draft.block) : parse(draft.text);
}

export function asText(draft: RuleDraft): RuleDraft {
  if (draft.mode === 'json') return draft;
  const rule = writeRule(draft.block) ?? [];
  return { mode: 'json', text: JSON.stringify(rule, null, 2), isFormable: true };
}

export function withText(text: string): RuleDraft {
  const rule = parse(text);
  return { mode: 'json', text, isFormable: rule !== undefined && readRule(rule) !== undefined };
}

export function asForm(draft: RuleDraft): RuleDraft {
  const rule = ruleOf(draft);
  return rule === undefined ? draft : draftOf(rule);
}

function parse(text: string): ApiRule[] | undefined {
  try {
    const rule: unknown = JSON.parse(text);
    return Array.isArray(rule) && rule.length > 0 ? rule : undefined;
  } catch {
    return undefined;
  }
}
