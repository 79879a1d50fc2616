import { useQuery } from '@tanstack/react-query';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { doctorQuery } from '../../../api/server';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { Section } from '../../../ui/page';
import { Status } from '../../../ui/status';
import { Time } from '../../../ui/time';
import { SettingsFrame } from '../settings-frame';
import { FindingText } from './finding-text';

const words = settingsText.doctor;
const NEEDS = { operation: 'examineServer', least: 'admin' };
const TONES = { ok: 'ok', warning: 'warn', error: 'bad' } as const;

export function DoctorPage() {
  const mayExamine = useMay()(NEEDS.operation);
  const doctor = useQuery({ ...doctorQuery, enabled: mayExamine });
  return (
    <SettingsFrame
      section="doctor"
      about={words.about}
      needs={NEEDS}
      requests={[{ path: '/api/v1/doctor' }]}
      aside={
        mayExamine && (
          <Button isPending={doctor.isFetching} onPress={() => void doctor.refetch()}>
            {words.examine}
          </Button>
        )
      }
    >
      <p role="status" className={doctor.isFetching ? 'soft' : 'visually-hidden'}>
        {doctor.isFetching ? words.examining : ''}
      </p>
      <Part query={doctor} lines={12}>
        {({ findings, checked_at: at }) => (
          <Section
            title={words.findings}
            aside={
              <span className="soft">
                {words.summary(countOf(findings, 'error'), countOf(findings, 'warning'))},{' '}
                {words.checked.toLowerCase()} <Time at={at} />
              </span>
            }
          >
            <ul>
              {findings.map((finding) => (
                <li key={`${finding.code} ${finding.what}`} className="finding">
                  <Status tone={TONES[finding.severity]}>
                    {words.severities[finding.severity]}
                  </Status>
                  <FindingText {...finding} />
                </li>
              ))}
            </ul>
          </Section>
        )}
      </Part>
    </SettingsFrame>
  );
}

function countOf(findings: readonly { severity: string }[], severity: string): number {
  return findings.filter((finding) => finding.severity === severity).length;
}
