import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { groupsText as words } from '../../text/groups';
import { Notice } from '../../ui/notice';
import { Section } from '../../ui/page';
import { Time } from '../../ui/time';
import { DevicesLink } from './devices-link';
import { type Doubt, doubtQuery, type Group } from './queries';

/** How many devices it holds, and those about which there is doubt. */
export function GroupMembers({ group }: { group: Group }) {
  const { id, name = '', kind, devices_count: count = 0 } = group;
  return (
    <Section title={words.members}>
      <dl className="group-figures">
        <div>
          <dt>{words.inGroup}</dt>
          <dd className="group-figure">
            <DevicesLink name={name} count={count} filter={`device_groups~has~${id} ${name}`} />
          </dd>
        </div>
        {kind === 'smart' && (
          <div>
            <dt>{words.evaluated}</dt>
            <dd>
              <Evaluated group={group} />
            </dd>
          </div>
        )}
        <div>
          <dt>{words.created}</dt>
          <dd>
            <Time at={group.created_at} />
          </dd>
        </div>
      </dl>
      {kind === 'smart' ? (
        <>
          <Doubts id={id} doubt="unknown_devices" title={words.unknown} why={words.unknownWhy} />
          <Doubts id={id} doubt="flapping_devices" title={words.flapping} why={words.flappingWhy} />
        </>
      ) : (
        <p className="soft">{words.addByHand}</p>
      )}
    </Section>
  );
}

function Evaluated({ group }: { group: Group }) {
  const { evaluated_at: at, evaluated_devices: read } = group;
  if (at !== null && at !== undefined) return <Time at={at} />;
  return <span role="status">{words.evaluatingDevices(read ?? 0)}</span>;
}

interface DoubtsProps {
  id: number;
  doubt: Doubt;
  title: string;
  why: string;
}

function Doubts({ id, doubt, title, why }: DoubtsProps) {
  const { data } = useQuery(doubtQuery(id, doubt));
  if (data === undefined || data.total === 0) return null;
  const rest = data.total - data.rows.length;
  return (
    <Notice tone="warn" title={`${title}: ${words.devices(data.total)}`}>
      <p>{why}</p>
      <ul className="group-doubts">
        {data.rows.map((device) => (
          <li key={device.id}>
            <Link to="/devices/$id" params={{ id: String(device.id) }}>
              {device.device_name ?? device.serial_number ?? words.unnamed(device.id)}
            </Link>
          </li>
        ))}
        {rest > 0 && <li>+ {rest.toLocaleString('en')}</li>}
      </ul>
    </Notice>
  );
}
