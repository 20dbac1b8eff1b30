package org.hibernate.id;

import org.hibernate.engine.spi.SharedSessionContractImplementor;

/** The part of Hibernate that the example needs, so that it compiles without Hibernate. */
public interface IdentifierGenerator {
    Object generate(SharedSessionContractImplementor session, Object object);
}
