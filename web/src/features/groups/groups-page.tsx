import { Page } from '../../ui/page';

export function GroupsPage() {
  return <Page title="Tags and groups">{null}</Page>;
}
