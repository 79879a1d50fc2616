import { useQuery } from '@tanstack/react-query';
import { FACTS, FACTS_BY_TOPIC } from '../../../api/facts';
import { labelOfFilter } from '../../../text/device-facts';
import { groupsText as words } from '../../../text/groups';
import { groupsQuery, tagsQuery } from '../queries';
import { kindOfFact, operatorsOf } from './operators';

export interface Choices {
  value: string;
  label: string;
}

/** For the choice of a fact, alphabetical within each topic. */
export const FACT_CHOICES = FACTS_BY_TOPIC.map(({ topic, names }) => ({
  label: words.rule.topics[topic],
  options: names
    .map((name) => ({ value: name, label: labelOfFilter(name) }))
    .sort((a, b) => a.label.localeCompare(b.label)),
}));

export function operatorChoices(fact: string): Choices[] {
  return operatorsOf(fact).map((op) => ({ value: op, label: words.rule.operators[op] ?? op }));
}

/** What the value of a fact is chosen from; empty where it is typed. */
export function useValueChoices(fact: string, value: string): Choices[] {
  const kind = kindOfFact(fact);
  const tags = useQuery({ ...tagsQuery, enabled: kind === 'tag' });
  const groups = useQuery({ ...groupsQuery, enabled: kind === 'group' });
  const listed = kind === 'tag' ? tags.data : kind === 'group' ? groups.data : undefined;
  if (kind === 'tag' || kind === 'group') {
    const rows = (listed?.rows ?? []).map(({ id, name }) => ({
      value: String(id),
      label: name ?? String(id),
    }));
    const isListed = value === '' || rows.some((row) => row.value === value);
    const gone = isListed || listed === undefined ? [] : [{ value, label: words.rule.gone(value) }];
    return [{ value: '', label: words.rule.choose }, ...rows, ...gone];
  }
  return (FACTS[fact]?.values ?? []).map((entry) => ({ value: entry, label: entry }));
}
