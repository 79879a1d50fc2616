import type { ReactNode } from 'react';
import { Button } from './button';
import { Dialog } from './dialog';

interface Props {
  title: string;
  /** The verb on the button. */
  action: string;
  cancel: string;
  isOpen: boolean;
  isPending?: boolean;
  /** Something is to be typed first. */
  isDisabled?: boolean;
  isDanger?: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Says what will happen and asks once. */
export function ConfirmDialog(props: Props) {
  const { title, action, cancel, isOpen, isPending = false, isDanger = true, children } = props;
  return (
    <Dialog title={title} isOpen={isOpen} onClose={props.onClose}>
      {children}
      <div className="dialog-buttons">
        <Button onPress={props.onClose}>{cancel}</Button>
        <Button
          kind={isDanger ? 'danger' : 'main'}
          onPress={props.onConfirm}
          isDisabled={props.isDisabled ?? false}
          isPending={isPending}
        >
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
