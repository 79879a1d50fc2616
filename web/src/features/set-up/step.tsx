import type { ReactNode } from 'react';
import { setUpText as words } from '../../text/set-up';
import { Section } from '../../ui/page';
import { Status } from '../../ui/status';

export type StepState = keyof typeof words.states;

interface Props {
  title: string;
  why: string;
  state: StepState | undefined;
  children?: ReactNode;
}

const TONES = { done: 'ok', open: 'warn', optional: 'soft', unknown: 'soft' } as const;

/** One thing to set up: whether it is done, why it is needed, and how. */
export function Step({ title, why, state, children }: Props) {
  return (
    <Section
      title={title}
      aside={state !== undefined && <Status tone={TONES[state]}>{words.states[state]}</Status>}
    >
      <p className="soft set-up-text">{why}</p>
      {children}
    </Section>
  );
}
