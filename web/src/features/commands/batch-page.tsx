import { Page } from '../../ui/page';

export function BatchPage() {
  return <Page title="Batch">{null}</Page>;
}
