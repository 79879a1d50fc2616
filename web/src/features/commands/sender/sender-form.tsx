import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useMemo, useRef, useState } from 'react';
import { ActionError } from '../../../api/action-error';
import { isApiError } from '../../../api/errors';
import { commandsText } from '../../../text/commands';
import { text } from '../../../text/en';
import { AsCurl } from '../../../ui/as-curl';
import { Button } from '../../../ui/button';
import { LeaveDialog } from '../../../ui/leave-dialog';
import { Section } from '../../../ui/page';
import { CommandForm } from '../form/command-form';
import { newDraft } from '../form/draft';
import { byPointer, otherFault, parameterFaults, problemText } from '../form/faults';
import { hideSecrets } from '../form/keys';
import { visibleKeys } from '../form/visible-keys';
import { isMissing, writeForm } from '../form/write-form';
import { actionOf, ConfirmSend } from './confirm-send';
import { DryRun } from './dry-run';
import { NO_OPTIONS, optionAttributes } from './options';
import { OptionsForm } from './options-form';
import { bodyOf, type CommandForm as Form, type Order, useSend } from './queries';
import { type Target, targetAttributes } from './targets';
import { useDryRun } from './use-dry-run';

interface Props {
  type: Form;
  target: Target | undefined;
}

/** Fills in one command, shows what it would do, and sends it. Key it by the command. */
export function SenderForm({ type, target }: Props) {
  const { request_type: requestType, title, is_destructive: isDestructive } = type;
  const keys = useMemo(() => visibleKeys(type), [type]);
  const [draft, setDraft] = useState(() => newDraft(keys));
  const [options, setOptions] = useState(NO_OPTIONS);
  const [isTried, setTried] = useState(false);
  const [isDirty, setDirty] = useState(false);
  const [confirming, setConfirming] = useState<number>();
  const form = useRef<HTMLFormElement>(null);
  const navigate = useNavigate();
  const send = useSend();

  const { parameters, problems } = writeForm(keys, draft, type.conditions);
  const isNamed = target !== undefined && target.kind !== 'invalid';
  const order: Order = {
    request_type: requestType,
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...optionAttributes(options),
    ...(isNamed && targetAttributes(target)),
  };
  const shown = order.parameters ? { ...order, parameters: hideSecrets(keys, parameters) } : order;
  const isComplete = isNamed && problems.length === 0;
  const dryRun = useDryRun(isComplete ? order : undefined);
  const eligible = isComplete && !dryRun.isStale ? dryRun.data?.targets.eligible : undefined;
  // Whether one device or several get what cannot be undone has to be known first.
  const isWaiting = isComplete && isDestructive && eligible === undefined;
  const serverError = send.error ?? dryRun.error;
  const faults = byPointer([
    ...problems
      .filter((problem) => isTried || !isMissing(problem))
      .map((problem) => [problem.pointer, problemText(problem)] as const),
    ...parameterFaults(serverError),
  ]);

  const changing =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setDirty(true);
      if (send.error !== null) send.reset();
    };
  // Once the fields are marked, and what is hidden has opened.
  const showFault = () => setTimeout(() => focusFault(form.current), 50);
  const post = (confirm?: number) =>
    send.mutate(
      { order, confirm },
      {
        onSuccess: (id) => {
          setDirty(false);
          void navigate({ to: '/commands/batches/$id', params: { id }, ignoreBlocker: true });
        },
        onError: (error) => {
          const asked = isApiError(error, 'confirmation_required')
            ? error.faults[0]?.meta?.confirm
            : undefined;
          setConfirming(asked ?? (confirm === undefined ? undefined : confirming));
          if (asked === undefined && confirm === undefined) showFault();
        },
      },
    );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!isComplete) {
      showFault();
      return;
    }
    if (isWaiting) return;
    // The server asks for the number of several devices; a single one is asked about here.
    if (isDestructive && eligible === 1) setConfirming(1);
    else post();
  };
  const isAsked = isApiError(send.error, 'confirmation_required');
  const other = isAsked
    ? undefined
    : otherFault(
        send.error,
        keys.map(({ name }) => name),
      );
  // The dry run says the same of a command that is not valid.
  const isToldHere = other !== undefined && confirming === undefined && dryRun.error === null;
  const count = eligible ?? 0;
  return (
    <form ref={form} className="sender" onSubmit={submit} noValidate>
      <div className="sender-main">
        <CommandForm
          keys={keys}
          conditions={type.conditions}
          draft={draft}
          faults={faults}
          onChange={changing(setDraft)}
        />
        <OptionsForm options={options} error={serverError} onChange={changing(setOptions)} />
        <AsCurl
          words={text.curl}
          requests={[{ path: '/api/v1/command_batches', method: 'POST', body: bodyOf(shown) }]}
        />
      </div>
      <div className="sender-aside">
        <Section title={commandsText.dryRun.title}>
          <DryRun
            missing={isNamed ? (problems.length > 0 ? 'form' : undefined) : 'targets'}
            dryRun={dryRun}
          />
          {isToldHere && <ActionError error={other} />}
          <Button
            kind={isDestructive ? 'danger' : 'main'}
            type="submit"
            isPending={send.isPending || send.isSuccess || isWaiting}
            isDisabled={!isNamed || eligible === 0}
          >
            {isDestructive && count > 0
              ? actionOf(requestType, title, count)
              : commandsText.sending.submit(count > 0 ? count : undefined)}
          </Button>
        </Section>
      </div>
      {confirming !== undefined && (
        <ConfirmSend
          key={confirming}
          requestType={requestType}
          title={title}
          count={confirming}
          isTyped={confirming > 1}
          error={isAsked ? null : send.error}
          isPending={send.isPending || send.isSuccess}
          onConfirm={() => post(confirming)}
          onClose={() => {
            setConfirming(undefined);
            send.reset();
          }}
        />
      )}
      <LeaveDialog isDirty={isDirty} words={commandsText.sending} />
    </form>
  );
}

function focusFault(form: HTMLFormElement | null): void {
  const fault = form?.querySelector<HTMLElement>(
    '[aria-invalid="true"], [data-invalid] :is(input, textarea, select, button)',
  );
  fault?.focus();
}
