import { Link } from '@tanstack/react-router';
import { deviceText as words } from '../../text/device';
import { labelOfFact } from '../../text/device-facts';
import { Copy } from '../../ui/copy';
import { Facts } from '../../ui/facts';
import { Empty } from '../../ui/notice';
import { Section } from '../../ui/page';
import { Time } from '../../ui/time';
import { type Fact, factsOf, kindOfFact } from './facts';
import type { Device, Mark } from './queries';

interface Props {
  device: Device;
  marks: readonly Mark[];
}

export function FactsTab({ device, marks }: Props) {
  const groups = factsOf(device);
  if (groups.length === 0) return <Empty title={words.empty.facts} />;
  return (
    <div className="fact-groups">
      {groups.map(({ group, facts }) => (
        <Section key={group} title={words.groups[group]}>
          <Facts
            entries={[
              ...facts.map((fact) => [labelOfFact(fact.name), shown(fact)] as const),
              ...(group === 'management' ? markEntries(marks) : []),
            ].map(([label, value]) => [label, value])}
          />
        </Section>
      ))}
    </div>
  );
}

function shown({ name, value }: Fact) {
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  switch (kindOfFact(name)) {
    case 'code':
      return <Copy text={String(value)} label={words.copy} />;
    case 'time':
      return <Time at={String(value)} />;
    case 'gigabytes':
      return `${Number(value).toLocaleString('en', { maximumFractionDigits: 1 })} GB`;
    case 'share':
      return `${Math.round(Number(value) * 100)} %`;
    default:
      return words.values[name]?.[String(value)] ?? String(value);
  }
}

/** Each tag and group opens the devices that it has. */
function markEntries(marks: readonly Mark[]) {
  return (['tags', 'device_groups'] as const).flatMap((type) => {
    const own = marks.filter((mark) => mark.type === type);
    if (own.length === 0) return [];
    const links = own.map(({ id, name }) => (
      <Link
        key={id}
        to="/devices"
        search={{ f: [type === 'tags' ? `tags~has~${name}` : `device_groups~has~${id} ${name}`] }}
      >
        {name}
      </Link>
    ));
    const shownLinks = (
      <span key={type} className="marks">
        {links}
      </span>
    );
    return [[words.marks[type], shownLinks] as const];
  });
}
