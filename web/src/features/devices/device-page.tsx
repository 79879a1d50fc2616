import { Page } from '../../ui/page';

export function DevicePage() {
  return <Page title="Device">{null}</Page>;
}
