import { useQuery } from '@tanstack/react-query';
import { Part } from '../../api/part';
import { FacetBars } from './facet-bars';
import { versionsQuery } from './queries';

/** The OS versions, below the name of each platform. */
export function Versions({ platforms }: { platforms: { value: string | boolean | null }[] }) {
  const names = platforms.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
  return names.map((name) => <OfPlatform key={name} name={name} />);
}

function OfPlatform({ name }: { name: string }) {
  const query = useQuery(versionsQuery(name));
  return (
    <>
      <h3>{name}</h3>
      <Part query={query} lines={3}>
        {({ total, facets, other }) => (
          <FacetBars
            name="os_version"
            rules={[`platform~eq~${name}`]}
            total={total}
            values={facets.os_version ?? []}
            other={other.os_version ?? 0}
          />
        )}
      </Part>
    </>
  );
}
