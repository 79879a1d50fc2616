import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BatchBar } from '../../api/batch-bar';
import type { Counts } from '../../api/batch-progress';
import { Part } from '../../api/part';
import { text } from '../../text/en';
import { overviewText as words } from '../../text/overview';
import { AsCurl } from '../../ui/as-curl';
import { Empty } from '../../ui/notice';
import { Page, Section } from '../../ui/page';
import { Credentials } from './credentials';
import { FacetBars } from './facet-bars';
import { Findings, HealthFigures } from './health';
import {
  credentialsQuery,
  FACETS,
  facetsQuery,
  healthQuery,
  OVERVIEW_PATHS,
  runningBatchesQuery,
} from './queries';
import { SetUpNotice } from './set-up-notice';
import { Versions } from './versions';
import { Warnings } from './warnings';

const PARTS = ['health', 'credentials', 'batches', 'platform', 'os_version'] as const;

export function OverviewPage() {
  const facets = useQuery(facetsQuery);
  const health = useQuery(healthQuery);
  const credentials = useQuery(credentialsQuery);
  const batches = useQuery(runningBatchesQuery);
  const total = facets.data?.total;
  return (
    <Page
      title={text.nav.overview}
      about={
        total !== undefined && (
          <Link to="/devices" search={{ f: ['is_enrolled~eq~true'] }}>
            {words.devices(total)}
          </Link>
        )
      }
    >
      <SetUpNotice devices={total} />
      {total === 0 && (
        <Empty title={words.noDevices}>
          <p>{words.enroll}</p>
        </Empty>
      )}
      <Part query={health} lines={4}>
        {(data) => <HealthFigures health={data.health} />}
      </Part>
      <div className="columns">
        <Section title={words.findings}>
          <Part query={health}>{(data) => <Findings findings={data.findings} />}</Part>
        </Section>
        <Section title={words.credentials}>
          <Part query={credentials}>
            {(data) => <Credentials credentials={data.credentials} />}
          </Part>
        </Section>
        <Section title={words.batches}>
          <Part query={batches}>
            {(rows) =>
              rows.length === 0 ? (
                <p className="soft">{words.noBatches}</p>
              ) : (
                <ul className="batches">
                  {rows.map(({ id, name, request_type: requestType, counts }) => (
                    <li key={id}>
                      <Link to="/commands/batches/$id" params={{ id: String(id) }}>
                        {name ?? requestType}
                      </Link>
                      <BatchBar counts={counts as Counts | null} />
                    </li>
                  ))}
                </ul>
              )
            }
          </Part>
        </Section>
      </div>
      <Warnings warnings={credentials.data?.warnings ?? []} />
      <div className="columns">
        {FACETS.map((name) => (
          <Section key={name} title={words[name]}>
            <Part query={facets} lines={6}>
              {(data) => (
                <FacetBars
                  name={name}
                  total={data.total}
                  values={data.facets[name] ?? []}
                  other={data.other[name] ?? 0}
                />
              )}
            </Part>
          </Section>
        ))}
        <Section title={words.os_version}>
          <Part query={facets} lines={6}>
            {(data) => <Versions platforms={data.facets.platform ?? []} />}
          </Part>
        </Section>
      </div>
      <AsCurl
        words={text.curl}
        requests={PARTS.map((part) => ({ label: words[part], path: OVERVIEW_PATHS[part] }))}
      />
    </Page>
  );
}
