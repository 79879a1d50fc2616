import { ActionError } from '../../../api/action-error';
import { useMay } from '../../../api/rights';
import { deviceText as words } from '../../../text/device';
import type { Device, Sending } from '../queries';
import { Sent } from './sent';

interface Props {
  device: Device;
  sending: Sending;
  /** A dialog is open, which shows what did not work. */
  isAsked: boolean;
}

/** What came of the last action, and why there is none for a device that is not enrolled. */
export function ActionResult({ device, sending, isAsked }: Props) {
  const isOperator = useMay()('pushDevice');
  return (
    <>
      {isOperator && device.is_enrolled !== true && (
        <p className="soft">{words.actions.notEnrolled}</p>
      )}
      <p role="status" className={sending.isSuccess ? '' : 'visually-hidden'}>
        {sending.isSuccess && <Sent device={device.id} answer={sending.data} />}
      </p>
      {sending.error !== null && !isAsked && <ActionError error={sending.error} />}
    </>
  );
}
