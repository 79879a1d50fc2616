import { ActionError } from '../../../api/action-error';
import { useMay } from '../../../api/rights';
import { deviceText as words } from '../../../text/device';
import type { Device, Sending } from '../queries';
import { Sent } from './sent';

/** What came of the last action, and why there is none for a device that is not enrolled. */
export function ActionResult({ device, sending }: { device: Device; sending: Sending }) {
  const isOperator = useMay()('pushDevice');
  return (
    <>
      {isOperator && device.is_enrolled !== true && (
        <p className="soft">{words.actions.notEnrolled}</p>
      )}
      <p role="status" className={sending.isSuccess ? '' : 'visually-hidden'}>
        {sending.isSuccess && <Sent device={device.id} answer={sending.data} />}
      </p>
      {sending.error !== null && <ActionError error={sending.error} />}
    </>
  );
}
