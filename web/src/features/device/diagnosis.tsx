import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Part } from '../../api/part';
import { deviceText as words } from '../../text/device';
import { Section } from '../../ui/page';
import { Status } from '../../ui/status';
import { Sent } from './actions/sent';
import { FindingCard } from './finding-card';
import { type Device, diagnosisQuery, useSend } from './queries';

/** Why the device does not do what it should, and what helps. */
export function Diagnosis({ device, onDelete }: { device: Device; onDelete: () => void }) {
  const { id } = device;
  const query = useQuery(diagnosisQuery(id));
  // Here, since a cure removes its finding before its answer is announced.
  const send = useSend(id);
  const [sender, setSender] = useState<string>();
  const isQuiet = query.data?.length === 0;
  return (
    <Section title={words.diagnosis} aside={isQuiet && <Quiet device={device} />}>
      <Part query={query} lines={1}>
        {(findings) =>
          findings.length > 0 && (
            <ul className="findings">
              {findings.map((finding) => (
                <li key={finding.code} tabIndex={-1}>
                  <FindingCard
                    finding={finding}
                    isSending={send.isPending && finding.code === sender}
                    error={finding.code === sender ? send.error : null}
                    onSend={(action) => {
                      setSender(finding.code);
                      send.mutate(action);
                    }}
                    onDelete={onDelete}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Part>
      <p role="status" className={send.isSuccess ? '' : 'visually-hidden'}>
        {send.isSuccess && <Sent device={id} answer={send.data} />}
      </p>
    </Section>
  );
}

/** Without a finding, a device is healthy only while it is enrolled. */
function Quiet({ device }: { device: Device }) {
  if (device.is_enrolled === true) return <Status tone="ok">{words.healthy}</Status>;
  const hasBegun = device.enrollment_state === 'authenticated';
  return <Status tone="soft">{hasBegun ? words.notFinished : words.notEnrolled}</Status>;
}
