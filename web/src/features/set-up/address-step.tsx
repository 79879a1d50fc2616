import { useQuery } from '@tanstack/react-query';
import { PageLinks } from '../../api/page-links';
import { Part } from '../../api/part';
import { useMay } from '../../api/rights';
import { doctorQuery } from '../../api/server';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { ShellLine } from '../../ui/shell-line';
import { Status } from '../../ui/status';
import { Step, type StepState } from './step';

const words = setUpText.address;
/** The checks of the doctor that look at the address. */
const CHECKS = ['public_address', 'same_server', 'public_tls', 'public_clock'];
const TONES = { ok: 'ok', warning: 'warn', error: 'bad' } as const;
const STATES = { ok: 'done', warning: 'open', error: 'open' } as const;

export function AddressStep() {
  const mayExamine = useMay()('examineServer');
  const doctor = useQuery({ ...doctorQuery, enabled: mayExamine });
  const found = doctor.data?.findings.filter(({ check }) => CHECKS.includes(check));
  return (
    <Step title={words.title} why={words.why} state={stateOf(found, mayExamine)}>
      {!mayExamine && <p className="soft">{setUpText.needsAdmin}</p>}
      {mayExamine && (
        <>
          {doctor.isFetching && <p role="status">{words.examining}</p>}
          <Part query={doctor} lines={3}>
            {() => (
              <ul className="set-up-findings">
                {found?.map(({ code, severity, what, cure }) => (
                  <li key={`${code} ${what}`}>
                    <Status tone={TONES[severity]}>{setUpText.states[STATES[severity]]}</Status>
                    <div>
                      <p>{what}</p>
                      {cure !== null && (
                        <p className="soft">
                          {cure}
                          <PageLinks text={cure} />
                        </p>
                      )}
                    </div>
                  </li>
                ))}
              </ul>
            )}
          </Part>
        </>
      )}
      <p>{words.how}</p>
      <ShellLine
        line="PUBLIC_URL=https://mdm.example.com"
        copy={setUpText.copy}
        copied={setUpText.copied}
      />
      <p className="soft">{words.docs}</p>
      {mayExamine && (
        <div>
          <Button isPending={doctor.isFetching} onPress={() => void doctor.refetch()}>
            {words.again}
          </Button>
        </div>
      )}
    </Step>
  );
}

function stateOf(
  found: { severity: keyof typeof STATES }[] | undefined,
  mayExamine: boolean,
): StepState | undefined {
  if (!mayExamine) return 'unknown';
  if (found === undefined) return undefined;
  return found.every(({ severity }) => severity === 'ok') ? 'done' : 'open';
}
