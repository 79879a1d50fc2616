import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { call, client } from '../../../api/client';
import { isApiError } from '../../../api/errors';
import { once, useMutation } from '../../../api/mutation';
import { useMay } from '../../../api/rights';
import { devicesText as words } from '../../../text/devices';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/confirm-dialog';
import { isTypedCount, TypedCount } from '../../../ui/typed-count';
import { countOf, type Target } from './target';

interface Order {
  target: Target;
  /** The number of devices that a person has confirmed. */
  confirm: number | undefined;
}

/** Asks the selected devices for their inventory, by batches. */
export function RefreshSelection({ target }: { target: Target }) {
  const [isOpen, setOpen] = useState(false);
  const [confirm, setConfirm] = useState<number>();
  const [typed, setTyped] = useState('');
  const refresh = useMutation({ mutationFn: ask });
  const may = useMay()('queueInventories');
  if (!may) return null;
  const close = () => {
    setOpen(false);
    setConfirm(undefined);
    setTyped('');
  };
  const cancel = () => {
    close();
    if (refresh.isError) refresh.reset();
  };
  const send = () =>
    refresh.mutate(
      { target, confirm },
      {
        onSuccess: close,
        onError: (error) => {
          if (isApiError(error, 'confirmation_required'))
            setConfirm(error.faults[0]?.meta?.confirm);
        },
      },
    );
  const shown = isApiError(refresh.error, 'confirmation_required') ? null : refresh.error;
  const count = confirm ?? countOf(target);
  return (
    <>
      <Button onPress={() => setOpen(true)}>{words.refresh}</Button>
      <span role="status" className="soft">
        {refresh.data !== undefined && (
          <>
            {words.refreshed(refresh.data)} <Link to="/commands">{words.refreshedWhere}</Link>
          </>
        )}
      </span>
      <ConfirmDialog
        title={words.refreshTitle(count)}
        action={words.refreshAction(count)}
        cancel={words.cancel}
        isOpen={isOpen}
        isPending={refresh.isPending}
        isDisabled={confirm !== undefined && !isTypedCount(typed, confirm)}
        isDanger={false}
        onConfirm={send}
        onClose={cancel}
      >
        <p>{words.refreshWhy}</p>
        {confirm !== undefined && (
          <>
            <p role="alert">{words.refreshConfirm(confirm)}</p>
            <TypedCount label={words.typed(confirm)} value={typed} onChange={setTyped} />
          </>
        )}
        {shown !== null && <ActionError error={shown} />}
      </ConfirmDialog>
    </>
  );
}

/** How many batches that makes. */
async function ask({ target, confirm }: Order, key: string): Promise<number> {
  const type = 'command_batches' as const;
  const data =
    'rules' in target
      ? { type, attributes: { filter: target.rules } }
      : { type, relationships: { devices: { data: target.ids.map(identifier) } } };
  const body = { data, ...(confirm !== undefined && { meta: { confirm } }) };
  const document = await call(() =>
    client.POST('/devices/inventory', { body: body as never, ...once(key) }),
  );
  // What a dry run shows has no data.
  return 'data' in document ? (document.data?.length ?? 0) : 0;
}

function identifier(id: number) {
  return { type: 'devices' as const, id };
}
