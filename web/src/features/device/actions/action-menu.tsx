import { deviceText } from '../../../text/device';
import { Popover } from '../../../ui/popover';
import type { Offer } from './actions';

const words = deviceText.actions;

interface Props {
  offers: readonly Offer[];
  onChoose: (offer: Offer) => void;
}

/** What the device can take, and below the others why it cannot. */
export function ActionMenu({ offers, onChoose }: Props) {
  return (
    <Popover label={words.label}>
      {(close) => (
        <ul className="action-menu">
          {offers.map((offer) => (
            <ActionItem
              key={offer.name}
              offer={offer}
              onChoose={() => {
                close();
                onChoose(offer);
              }}
            />
          ))}
        </ul>
      )}
    </Popover>
  );
}

/** One that is not possible keeps its place and can have the focus, so that its reason is read. */
function ActionItem({ offer, onChoose }: { offer: Offer; onChoose: () => void }) {
  const { name, hasDialog, reason } = offer;
  const isPossible = reason === undefined;
  return (
    <li>
      <button
        type="button"
        data-danger={name === 'EraseDevice' || undefined}
        aria-disabled={!isPossible}
        aria-describedby={isPossible ? undefined : `why-${name}`}
        onClick={isPossible ? onChoose : undefined}
      >
        {words[name]}
        {hasDialog && ' …'}
      </button>
      {reason !== undefined && (
        <p id={`why-${name}`} className="action-reason">
          {deviceText.reason(reason.code, reason.detail)}
        </p>
      )}
    </li>
  );
}
