import { useQuery } from '@tanstack/react-query';
import { meQuery } from '../../../api/me';
import { useMay } from '../../../api/rights';
import { deviceText } from '../../../text/device';
import { Button } from '../../../ui/button';
import { actionTypesQuery, type Device, type Sending, unlockTokenQuery } from '../queries';
import { RenameDialog } from '../rename-dialog';
import { ActionDialog } from './action-dialog';
import { ActionMenu } from './action-menu';
import { actionRequest, deletionFor, type Offer, offersOf } from './actions';
import { DeleteDialog } from './delete-dialog';

const words = deviceText.actions;

interface Props {
  device: Device;
  sending: Sending;
  /** What a dialog asks about now. */
  chosen: Offer | undefined;
  onChoose: (offer: Offer | undefined) => void;
}

/** All that can be done with the device, in one place. The page shows what came of it. */
export function DeviceActions({ device, sending, chosen, onChoose }: Props) {
  const { id } = device;
  const may = useMay();
  const { data: me } = useQuery(meQuery);
  const types = useQuery(actionTypesQuery(id));
  const unlock = useQuery({ ...unlockTokenQuery(id), enabled: may('listSecretsOfDevice') });
  const asker = { role: me?.role, device, hasUnlockToken: unlock.data };
  // Whole at once: a menu whose items change cannot be used by keyboard.
  const offers = types.isPending
    ? []
    : [...offersOf(types.data ?? [], asker), ...deletionFor(me?.role)];
  const choose = (offer: Offer) => {
    sending.reset();
    if (offer.hasDialog || offer.name === 'Delete') onChoose(offer);
    else sending.mutate(actionRequest(id, offer.name));
  };
  const dialog = {
    device,
    sending,
    onDone: () => onChoose(undefined),
    onCancel: () => {
      sending.reset();
      onChoose(undefined);
    },
  };
  const post = (path: string) =>
    sending.mutate({ method: 'POST', path: `/api/v1/devices/${path}` });
  return (
    <>
      {may('pushDevice') && (
        <Button
          isDisabled={!device.is_enrolled}
          isPending={sending.isPending}
          onPress={() => post(`${id}/push`)}
        >
          {words.push}
        </Button>
      )}
      {may('queueInventory') && (
        <Button
          isDisabled={!device.is_enrolled}
          isPending={sending.isPending}
          onPress={() => post(`inventory/${id}`)}
        >
          {words.refresh}
        </Button>
      )}
      {offers.length > 0 && <ActionMenu offers={offers} onChoose={choose} />}
      {chosen?.name === 'Settings' && <RenameDialog {...dialog} />}
      {chosen?.name === 'Delete' && <DeleteDialog device={device} onCancel={dialog.onCancel} />}
      {chosen !== undefined && chosen.name !== 'Settings' && chosen.name !== 'Delete' && (
        <ActionDialog {...dialog} name={chosen.name} role={me?.role} />
      )}
    </>
  );
}
