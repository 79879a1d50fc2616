import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { meQuery } from '../../../api/me';
import { Part } from '../../../api/part';
import { useMay } from '../../../api/rights';
import { commandsText as words } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { Notice } from '../../../ui/notice';
import { Page, Section } from '../../../ui/page';
import { ChosenCommand } from './chosen-command';
import { CommandChoice } from './command-choice';
import { commandTypeQuery } from './queries';
import { SenderForm } from './sender-form';
import { TargetChoice } from './target-choice';
import { TargetLine, TargetLinks } from './target-line';
import { readTarget, type TargetSearch } from './targets';
import '../commands.css';
import './sender.css';

const NOBODY: TargetSearch = {
  devices: undefined,
  rules: undefined,
  tags: undefined,
  groups: undefined,
};

/** Devices, then a command, then its settings; the first two stand in the address. */
export function SenderPage() {
  const search = useSearch({ from: '/commands/new' });
  const navigate = useNavigate({ from: '/commands/new' });
  const canSend = useMay()('createCommandBatch');
  const { data: me } = useQuery(meQuery);
  const target = readTarget(search);
  const { type: requestType } = search;
  const change = (part: TargetSearch & { type?: string | undefined }) =>
    void navigate({ search: (former) => ({ ...former, ...part }), resetScroll: false });
  const single = target?.kind === 'devices' && target.ids.length === 1 ? target.ids[0] : undefined;
  const isNamed = target !== undefined && target.kind !== 'invalid';
  if (!canSend) {
    return (
      <Page title={words.send}>
        {me !== undefined && <Notice title={words.readOnly(me?.role ?? '')} />}
      </Page>
    );
  }
  return (
    <Page title={words.send}>
      <Section
        title={words.targets.title}
        aside={isNamed && <TargetLinks onChange={() => change(NOBODY)} />}
      >
        {target?.kind === 'invalid' && <Notice tone="warn" title={words.targets.invalid} />}
        {isNamed ? (
          <TargetLine target={target} />
        ) : (
          <>
            <p className="soft">{words.targets.none}</p>
            <TargetChoice onChoose={(chosen) => change({ ...NOBODY, ...chosen })} />
          </>
        )}
      </Section>
      {requestType === undefined ? (
        <Section title={words.choice.title}>
          <CommandChoice device={single} onChoose={(type) => change({ type })} />
        </Section>
      ) : (
        <Chosen
          key={requestType}
          requestType={requestType}
          target={target}
          onChange={() => change({ type: undefined })}
        />
      )}
    </Page>
  );
}

interface ChosenProps {
  requestType: string;
  target: ReturnType<typeof readTarget>;
  onChange: () => void;
}

function Chosen({ requestType, target, onChange }: ChosenProps) {
  const type = useQuery(commandTypeQuery(requestType));
  const heading = useRef<HTMLHeadingElement>(null);
  // The button that chose it is gone.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <Section
        title={words.choice.title}
        aside={<Button onPress={onChange}>{words.choice.change}</Button>}
      >
        <h3 ref={heading} tabIndex={-1} className="chosen-title">
          {type.data?.title ?? requestType}
        </h3>
        <Part query={type} lines={1}>
          {(data) => <ChosenCommand type={data} />}
        </Part>
      </Section>
      {type.data !== undefined && <SenderForm type={type.data} target={target} />}
    </>
  );
}
