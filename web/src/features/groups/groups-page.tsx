import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { groupsText as words } from '../../text/groups';
import { Empty } from '../../ui/notice';
import { type PlainColumn, PlainTable } from '../../ui/plain-table';
import { Status } from '../../ui/status';
import { Time } from '../../ui/time';
import { DevicesLink } from './devices-link';
import { GroupsFrame } from './groups-frame';
import { type Group, groupsQuery } from './queries';
import { ReadOnly } from './read-only';

const COLUMNS: PlainColumn<Group>[] = [
  {
    name: 'name',
    label: words.name,
    cell: ({ id, name, description }) => (
      <>
        <Link to="/groups/$id" params={{ id: String(id) }}>
          {name}
        </Link>
        {description !== null && description !== '' && (
          <p className="soft group-description">{description}</p>
        )}
      </>
    ),
  },
  {
    name: 'kind',
    label: words.kind,
    isTight: true,
    cell: (group) => <Kind {...group} />,
  },
  {
    name: 'devices',
    label: words.devicesHead,
    isNumber: true,
    isTight: true,
    cell: ({ id, name = '', devices_count: count = 0 }) => (
      <DevicesLink name={name} count={count} filter={`device_groups~has~${id} ${name}`} />
    ),
  },
  {
    name: 'changed',
    label: words.changed,
    isTight: true,
    isMinor: true,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

export function GroupsPage() {
  const groups = useQuery(groupsQuery);
  const canCreate = useMay()('createDeviceGroup');
  return (
    <GroupsFrame
      part="groups"
      aside={
        canCreate && (
          <Link to="/groups/new" className="button" data-kind="main">
            {words.newGroup}
          </Link>
        )
      }
    >
      <Part query={groups} lines={8}>
        {({ rows, total }) =>
          rows.length === 0 ? (
            <Empty title={words.noGroups}>
              <p>{words.noGroupsWhy}</p>
            </Empty>
          ) : (
            <>
              <PlainTable label={words.groups} columns={COLUMNS} rows={rows} />
              {total > rows.length && <p className="soft">{words.first(rows.length, total)}</p>}
            </>
          )
        }
      </Part>
      {!canCreate && <ReadOnly />}
    </GroupsFrame>
  );
}

function Kind({ kind = 'static', evaluated_at: at }: Group) {
  if (kind === 'smart' && at === null) return <Status tone="soft">{words.evaluating}</Status>;
  return <span>{words.kinds[kind]}</span>;
}
