import { useNavigate } from '@tanstack/react-router';
import { groupsText as words } from '../../text/groups';
import { Page } from '../../ui/page';
import { GroupForm } from './group-form';
import './groups.css';

export function NewGroupPage() {
  const navigate = useNavigate();
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
