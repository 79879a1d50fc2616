import type { ReactNode } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import './dialog.css';

interface Props {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  /** Hides the page behind it, and is closed by its buttons alone. */
  isOpaque?: boolean;
  children: ReactNode;
}

/** Focus goes into it, and back to what opened it when it closes. */
export function Dialog({ title, isOpen, onClose, isOpaque = false, children }: Props) {
  return (
    <ModalOverlay
      className="overlay"
      isOpen={isOpen}
      isDismissable={!isOpaque}
      isKeyboardDismissDisabled={isOpaque}
      data-opaque={isOpaque || undefined}
      onOpenChange={(open) => !open && onClose()}
    >
      <Modal className="modal">
        <AriaDialog className="dialog">
          <Heading slot="title" level={2} className="dialog-title">
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
