import { Page } from '../../ui/page';

export function BatchesPage() {
  return <Page title="Commands">{null}</Page>;
}
