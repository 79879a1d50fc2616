import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { isApiError } from '../../api/errors';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { text } from '../../text/en';
import { groupsText as words } from '../../text/groups';
import { AsCurl } from '../../ui/as-curl';
import { Missing } from '../../ui/missing';
import { Page } from '../../ui/page';
import { DeleteGroup } from './delete-group';
import { GroupForm } from './group-form';
import { GroupMembers } from './group-members';
import { groupPath, groupQuery } from './queries';
import './groups.css';

export function GroupPage() {
  const { id } = useParams({ from: '/groups/$id' });
  const query = useQuery(groupQuery(Number(id)));
  const group = query.data;
  const canDelete = useMay()('deleteDeviceGroup');
  if (isApiError(query.error) && query.error.status === 404) return <NoGroup />;
  return (
    <Page
      title={group?.name ?? words.groups}
      about={group?.kind !== undefined && <span className="soft">{words.kinds[group.kind]}</span>}
      aside={group !== undefined && canDelete && <DeleteGroup group={group} />}
    >
      <Part query={query} lines={10}>
        {(data) => (
          <>
            <GroupMembers group={data} />
            <GroupForm key={data.id} group={data} onSaved={() => undefined} />
          </>
        )}
      </Part>
      <AsCurl words={text.curl} requests={[{ path: groupPath(Number(id)) }]} />
    </Page>
  );
}

function NoGroup() {
  return (
    <Missing page={words.group} title={words.gone} why={words.goneWhy}>
      <Link to="/groups" className="button">
        {words.toGroups}
      </Link>
    </Missing>
  );
}
