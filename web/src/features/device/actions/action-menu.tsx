import { deviceText } from '../../../text/device';
import { Menu } from '../../../ui/menu';
import type { Offer } from './actions';

const words = deviceText.actions;

interface Props {
  offers: readonly Offer[];
  onChoose: (offer: Offer) => void;
}

/** What the device can take, and below the others why it cannot. */
export function ActionMenu({ offers, onChoose }: Props) {
  const items = offers.map(({ name, hasDialog, reason }) => ({
    name,
    label: hasDialog ? `${words[name]} …` : words[name],
    isDanger: name === 'EraseDevice' || name === 'Delete',
    reason: reason && deviceText.reason(reason.code, reason.detail),
  }));
  const choose = (name: string) => {
    const offer = offers.find((other) => other.name === name);
    if (offer !== undefined) onChoose(offer);
  };
  return <Menu label={words.label} items={items} onChoose={choose} />;
}
