package org.hibernate.engine.spi;

/** The part of Hibernate that the example needs, so that it compiles without Hibernate. */
public interface SharedSessionContractImplementor {
}
