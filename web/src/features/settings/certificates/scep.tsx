import type { Schemas } from '../../../api/client';
import { settingsText } from '../../../text/settings';
import { Facts } from '../../../ui/facts';
import { Time } from '../../../ui/time';

type Configuration = NonNullable<Schemas['scep_configurations_attributes']>;

const words = settingsText.certificates;

export function Scep({ configuration }: { configuration: Configuration }) {
  const entries = Object.entries(words.scepFacts).map(
    ([name, label]) => [label, shown(name, configuration)] as [string, React.ReactNode],
  );
  return <Facts entries={entries} />;
}

function shown(name: string, configuration: Configuration) {
  const value: unknown = configuration[name as keyof Configuration];
  if (name === 'updated_at') return <Time at={value as string | null} />;
  if (value === null || value === undefined) return words.byDefault;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  return name === 'source_type' ? (words.sources[String(value)] ?? String(value)) : String(value);
}
