import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { progressOf } from '../../../api/batch-progress';
import { isApiError } from '../../../api/errors';
import { useMay } from '../../../api/rights';
import { batchesText } from '../../../text/batches';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/confirm-dialog';
import { ConfirmSend } from '../sender/confirm-send';
import { type Batch, hasEnded, useBatchAction } from './queries';

const words = batchesText.batch;

/** Cancel, and retry what failed. Both ask first. */
export function BatchActions({ batch }: { batch: Batch }) {
  const may = useMay();
  const { failed, waiting } = progressOf(batch.counts);
  const canCancel = may('cancelCommandBatch') && !hasEnded(batch);
  const canRetry =
    may('retryFailedOfCommandBatch') &&
    failed > 0 &&
    batch.retriedBy === undefined &&
    batch.state !== 'expanding';
  return (
    <>
      {canRetry && <Retry batch={batch} failed={failed} />}
      {canCancel && <Cancel id={String(batch.id)} waiting={waiting} />}
    </>
  );
}

function Cancel({ id, waiting }: { id: string; waiting: number }) {
  const [isOpen, setOpen] = useState(false);
  const { mutate, isPending, error } = useBatchAction(id);
  return (
    <>
      <Button onPress={() => setOpen(true)}>{words.stop}</Button>
      <ConfirmDialog
        title={words.stopTitle}
        action={words.stop}
        cancel={words.keep}
        isOpen={isOpen}
        isPending={isPending}
        onConfirm={() => mutate({ name: 'cancel' }, { onSuccess: () => setOpen(false) })}
        onClose={() => setOpen(false)}
      >
        <p>{words.stopWhy(waiting)}</p>
        {error !== null && <ActionError error={error} />}
      </ConfirmDialog>
    </>
  );
}

function Retry({ batch, failed }: { batch: Batch; failed: number }) {
  const [isOpen, setOpen] = useState(false);
  const [confirm, setConfirm] = useState<number>();
  const navigate = useNavigate();
  const { mutate, isPending, error, reset } = useBatchAction(String(batch.id));
  const close = () => {
    setOpen(false);
    setConfirm(undefined);
    reset();
  };
  const send = (number?: number) =>
    mutate(
      { name: 'retry_failed', ...(number !== undefined && { confirm: number }) },
      {
        onSuccess: (id) => void navigate({ to: '/commands/batches/$id', params: { id } }),
        onError: (failure) => {
          if (!isApiError(failure, 'confirmation_required')) return;
          setConfirm(failure.faults[0]?.meta?.confirm);
        },
      },
    );
  const shown = isApiError(error, 'confirmation_required') ? null : error;
  const requestType = batch.request_type ?? '';
  return (
    <>
      <Button kind="main" onPress={() => setOpen(true)}>
        {words.retry(failed)}
      </Button>
      <ConfirmDialog
        title={words.retryTitle(failed)}
        action={words.retry(failed)}
        cancel={commandsText.cancel}
        isOpen={isOpen && confirm === undefined}
        isPending={isPending}
        isDanger={false}
        onConfirm={() => send()}
        onClose={close}
      >
        <p>{words.retryWhy(failed)}</p>
        {shown !== null && <ActionError error={shown} />}
      </ConfirmDialog>
      {isOpen && confirm !== undefined && (
        <ConfirmSend
          key={confirm}
          requestType={requestType}
          title={requestType}
          count={confirm}
          isTyped
          error={shown}
          isPending={isPending}
          onConfirm={() => send(confirm)}
          onClose={close}
        />
      )}
    </>
  );
}
