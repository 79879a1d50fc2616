import { Page } from '../../ui/page';

export function SenderPage() {
  return <Page title="Send a command">{null}</Page>;
}
