import { useNavigate } from '@tanstack/react-router';
import { useMay } from '../../api/rights';
import { groupsText as words } from '../../text/groups';
import { Page } from '../../ui/page';
import { GroupForm } from './group-form';
import { ReadOnly } from './read-only';
import './groups.css';

export function NewGroupPage() {
  const navigate = useNavigate();
  const canCreate = useMay()('createDeviceGroup');
  if (!canCreate) {
    return (
      <Page title={words.newGroup}>
        <ReadOnly />
      </Page>
    );
  }
  return (
    <Page title={words.newGroup}>
      <GroupForm
        onSaved={(id) =>
          void navigate({ to: '/groups/$id', params: { id: String(id) }, ignoreBlocker: true })
        }
      />
    </Page>
  );
}
