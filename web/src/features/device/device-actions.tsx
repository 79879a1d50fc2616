import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionError } from '../../api/action-error';
import { meQuery } from '../../api/me';
import { useMay } from '../../api/rights';
import { deviceText } from '../../text/device';
import { Button } from '../../ui/button';
import { ActionDialog } from './action-dialog';
import { ActionMenu } from './action-menu';
import { actionRequest, type Offer, offersOf } from './actions';
import { actionTypesQuery, type Device, useSend } from './queries';
import { resultOf } from './results';

const words = deviceText.actions;

/** All that can be done with the device, in one place. */
export function DeviceActions({ device }: { device: Device }) {
  const { id } = device;
  const may = useMay();
  const { data: me } = useQuery(meQuery);
  const types = useQuery(actionTypesQuery(id));
  const send = useSend(id);
  const [chosen, setChosen] = useState<Offer>();
  const [result, setResult] = useState('');
  const asker = { role: me?.role, isLost: device.is_mdm_lost_mode_enabled === true };
  const offers = offersOf(types.data ?? [], asker);
  const onSuccess = (answer: unknown) => setResult(resultOf(answer));
  const post = (path: string) => {
    setResult('');
    send.mutate({ method: 'POST', path: `/api/v1/devices/${path}` }, { onSuccess });
  };
  const choose = (offer: Offer) => {
    setResult('');
    send.reset();
    if (offer.isDestructive) setChosen(offer);
    else send.mutate(actionRequest(id, offer.name), { onSuccess });
  };
  const unreachable = device.is_enrolled ? undefined : words.notEnrolled;
  return (
    <section className="device-actions" aria-label={words.label}>
      {may('pushDevice') && (
        <Button isDisabled={!device.is_enrolled} onPress={() => post(`${id}/push`)}>
          {words.push}
        </Button>
      )}
      {may('queueInventory') && (
        <Button isDisabled={!device.is_enrolled} onPress={() => post(`inventory/${id}`)}>
          {words.refresh}
        </Button>
      )}
      {offers.length > 0 && <ActionMenu offers={offers} onChoose={choose} />}
      {may('pushDevice') && unreachable !== undefined && (
        <span className="soft">{unreachable}</span>
      )}
      <span role="status">{result}</span>
      {send.error !== null && <ActionError error={send.error} />}
      {chosen !== undefined && (
        <ActionDialog
          device={device}
          name={chosen.name}
          role={me?.role}
          onClose={() => setChosen(undefined)}
          onSent={(answer) => {
            setChosen(undefined);
            onSuccess(answer);
          }}
        />
      )}
    </section>
  );
}
