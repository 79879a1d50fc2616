import { useQuery } from '@tanstack/react-query';
import { Part } from '../../api/part';
import { deviceText as words } from '../../text/device';
import { Section } from '../../ui/page';
import { Status } from '../../ui/status';
import { FindingCard } from './finding-card';
import { diagnosisQuery } from './queries';

/** Why the device does not do what it should, and what helps. */
export function Diagnosis({ id }: { id: number }) {
  const query = useQuery(diagnosisQuery(id));
  const isHealthy = query.data?.length === 0;
  return (
    <Section
      title={words.diagnosis}
      aside={isHealthy && <Status tone="ok">{words.healthy}</Status>}
    >
      <Part query={query} lines={1}>
        {(findings) =>
          findings.length > 0 && (
            <ul className="findings">
              {findings.map((finding) => (
                <li key={finding.code}>
                  <FindingCard id={id} finding={finding} />
                </li>
              ))}
            </ul>
          )
        }
      </Part>
    </Section>
  );
}
