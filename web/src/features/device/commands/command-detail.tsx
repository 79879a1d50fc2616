import { useQuery } from '@tanstack/react-query';
import { ActionError } from '../../../api/action-error';
import { Part } from '../../../api/part';
import type { ApiRequest } from '../../../api/request';
import { useMay } from '../../../api/rights';
import { deviceText } from '../../../text/device';
import { Button } from '../../../ui/button';
import { JsonBlock } from '../../../ui/json-block';
import { commandQuery, useSend } from '../queries';
import { Steps } from './steps';

const words = deviceText.command;
const WAITING = ['Queued', 'Sent', 'NotNow'];

/** What has happened to a command, or why it waits, and what the device answered. */
export function CommandDetail({ device, id }: { device: number; id: number }) {
  const query = useQuery(commandQuery(id));
  const send = useSend(device);
  const canCancel = useMay()('updateCommand');
  return (
    <Part query={query} lines={4}>
      {({ command: { status, parameters, result, error_chain: errors }, steps }) => (
        <>
          <h3>{words.timeline}</h3>
          <Steps steps={steps} />
          {canCancel && WAITING.includes(status ?? '') && (
            <div>
              <Button isPending={send.isPending} onPress={() => send.mutate(cancellation(id))}>
                {words.cancel}
              </Button>
            </div>
          )}
          <p role="status" className={send.isSuccess ? '' : 'visually-hidden'}>
            {send.isSuccess && deviceText.results.cancelled}
          </p>
          {send.error !== null && <ActionError error={send.error} />}
          <Json label={words.parameters} value={parameters} />
          <Json label={words.error} value={errors} />
          <Json label={words.answer} value={result} />
          {isEmpty(result) && WAITING.includes(status ?? '') && (
            <p className="soft">{words.noAnswer}</p>
          )}
        </>
      )}
    </Part>
  );
}

function cancellation(id: number): ApiRequest {
  const body = { data: { type: 'commands', id, attributes: { status: 'Cancelled' } } };
  return { method: 'PATCH', path: `/api/v1/commands/${id}`, body };
}

function Json({ label, value }: { label: string; value: unknown }) {
  if (isEmpty(value)) return null;
  return (
    <>
      <h3>{label}</h3>
      <JsonBlock label={label} value={value} />
    </>
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
